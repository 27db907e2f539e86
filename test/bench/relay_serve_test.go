package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	embedded "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/bus/natsserver"
	"cairn/edge"
	"cairn/schemas"
)

// generate simulates a model that emits the number of tokens in the query, each when it is due,
// independently of delays of the previous one.
func generate(query string, emit func(schemas.TextDelta) error) error {
	tokens, err := strconv.Atoi(query)
	if err != nil {
		return err
	}
	origin, began := monotonic(), time.Now()
	for i := range tokens {
		due := time.Duration(i) * pace
		time.Sleep(time.Until(began.Add(due)))
		if err := emit(schemas.TextDelta{Text: fmt.Sprint(i, int64(origin+due))}); err != nil {
			return err
		}
	}
	return nil
}

// serveFloor is a reverse proxy to a model that serves HTTP itself.
func serveFloor(ctx context.Context, _ string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	model := &http.Server{Handler: http.HandlerFunc(generateHTTP), ReadHeaderTimeout: 10 * time.Second}
	defer func() { _ = model.Close() }()
	go func() { _ = model.Serve(l) }() // returns after Close
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: l.Addr().String()})
	proxy.FlushInterval = -1
	return serveHTTP(ctx, func(w http.ResponseWriter, r *http.Request) {
		// Otherwise a response that starts before the request was forwarded ends both.
		_ = http.NewResponseController(w).EnableFullDuplex()
		proxy.ServeHTTP(w, r)
	})
}

func generateHTTP(w http.ResponseWriter, r *http.Request) {
	var send schemas.Analysis
	if err := json.NewDecoder(r.Body).Decode(&send); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	err := generate(send.Query, func(t schemas.TextDelta) error {
		data, err := json.Marshal(t)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", data); err != nil {
			return err
		}
		return out.Flush()
	})
	if err == nil {
		_, _ = io.WriteString(w, "data: {}\n\n") // a failure truncates the stream, which the client detects
	}
}

// serveNATS is the minimal implementation of streaming over NATS: the handler publishes the
// request and writes each message that it receives.
func serveNATS(ctx context.Context, _ string) error {
	ns, err := embedded.NewServer(&embedded.Options{DontListen: true, NoSigs: true, NoLog: true, MaxPayload: 8 << 20})
	if err != nil {
		return err
	}
	ns.Start()
	defer ns.Shutdown()
	if !ns.ReadyForConnections(10 * time.Second) {
		return errors.New("the embedded NATS server did not start")
	}
	conn, err := nats.Connect("", nats.InProcessServer(ns))
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Subscribe("generate", func(m *nats.Msg) { go generateNATS(m) }); err != nil {
		return err
	}
	return serveHTTP(ctx, func(w http.ResponseWriter, r *http.Request) {
		if err := passOn(w, r, conn); err != nil {
			panic(http.ErrAbortHandler) // the client sees a truncated stream
		}
	})
}

func generateNATS(m *nats.Msg) {
	var send schemas.Analysis
	if err := json.Unmarshal(m.Data, &send); err != nil {
		return // the client times out
	}
	err := generate(send.Query, func(t schemas.TextDelta) error {
		data, err := json.Marshal(t)
		if err != nil {
			return err
		}
		return m.Respond(data)
	})
	if err == nil {
		_ = m.Respond([]byte("{}")) // a failure truncates the stream, which the client detects
	}
}

func passOn(w http.ResponseWriter, r *http.Request, conn *nats.Conn) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	inbox := conn.NewInbox()
	sub, err := conn.SubscribeSync(inbox)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := conn.PublishRequest("generate", inbox, body); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	for {
		m, err := sub.NextMsgWithContext(r.Context())
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", m.Data); err != nil {
			return err
		}
		if err := out.Flush(); err != nil || string(m.Data) == "{}" {
			return err
		}
	}
}

// serveCairn is Cairn's edge and a worker that generates the model's tokens, on one
// connection as in "cairn up".
func serveCairn(ctx context.Context, _ string) error {
	debug.SetGCPercent(200) // like every cairn process
	server, err := natsserver.Start("", "")
	if err != nil {
		return err
	}
	defer server.Stop()
	conn, err := server.Open("relay")
	if err != nil {
		return err
	}
	defer conn.Close()
	silent := slog.New(slog.DiscardHandler)
	s, err := bus.Start(conn, "analyze", 1024, silent)
	if err != nil {
		return err
	}
	if err := bus.Analyze.Setup(context.Background(), conn, bucket.Replication{}); err != nil {
		return err
	}
	err = bus.Analyze.Serve(s, func(_ context.Context, send schemas.Analysis, to bus.Sender) error {
		return generate(send.Query, func(t schemas.TextDelta) error { return to.Send(schemas.EventTextDelta, t) })
	})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "http://%s\n", l.Addr())
	return errors.Join(edge.Serve(ctx, edge.Config{Listener: l, Conn: conn, Log: silent, Drain: time.Second}),
		s.Stop(context.Background()))
}
