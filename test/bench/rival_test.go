package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/redis/go-redis/v9"
)

// baselineVariable makes this test binary run the named baseline, in a separate process like
// cairn, until SIGTERM.
const baselineVariable = "CAIRN_BENCH_BASELINE"

// baseline starts the named baseline.
func baseline(b *testing.B, name string) server {
	b.Helper()
	self, err := os.Executable()
	must(b, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), baselineVariable+"="+name)
	return start(b, cmd)
}

func runRival(name string) int {
	ctx, done := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer done()
	kind, where, _ := strings.Cut(name, " ")
	serve := map[string]func(context.Context, string) error{
		"echo": serveEcho, "redis": serveRedis,
		"attack": runAttack, "floor": serveFloor, "nats": serveNATS, "cairn": serveCairn,
	}[kind]
	if err := serve(ctx, where); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// serveHTTP serves until ctx ends.
func serveHTTP(ctx context.Context, handler http.HandlerFunc) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	fmt.Fprintf(os.Stdout, "http://%s\n", l.Addr())
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// serveEcho is the minimal implementation of HTTP over NATS: a handler that sends the body
// to an echo responder on an embedded server and returns the reply.
func serveEcho(ctx context.Context, _ string) error {
	ns, err := natsserver.NewServer(&natsserver.Options{
		Host: "127.0.0.1", Port: natsserver.RANDOM_PORT, NoSigs: true, NoLog: true, MaxPayload: 8 << 20,
	})
	if err != nil {
		return err
	}
	ns.Start()
	defer ns.Shutdown()
	if !ns.ReadyForConnections(10 * time.Second) {
		return errors.New("the embedded NATS server did not start")
	}
	asks, err := nats.Connect(ns.ClientURL())
	if err != nil {
		return err
	}
	defer asks.Close()
	answers, err := nats.Connect(ns.ClientURL())
	if err != nil {
		return err
	}
	defer answers.Close()
	if _, err := answers.Subscribe("echo", func(m *nats.Msg) { _ = m.Respond(m.Data) }); err != nil {
		return err
	}
	if err := answers.Flush(); err != nil {
		return err
	}
	return serveHTTP(ctx, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		m, err := asks.Request("echo", body, 10*time.Second)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(m.Data)
	})
}

// serveRedis is a straightforward tag store on Redis.
func serveRedis(ctx context.Context, address string) error {
	db := redis.NewClient(&redis.Options{Addr: address})
	defer func() { _ = db.Close() }()
	return serveHTTP(ctx, func(w http.ResponseWriter, r *http.Request) {
		var tag struct {
			RequestID string         `json:"request_id"`
			Flow      string         `json:"flow"`
			Tags      map[string]any `json:"tags"`
		}
		if err := json.NewDecoder(r.Body).Decode(&tag); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		record, err := json.Marshal(tag)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		stored, err := db.SetNX(r.Context(), "tag:"+tag.RequestID, record, 30*time.Minute).Result()
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		case !stored:
			http.Error(w, "exists", http.StatusConflict)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			_ = json.NewEncoder(w).Encode(map[string]string{"request_id": tag.RequestID, "flow": tag.Flow})
		}
	})
}
