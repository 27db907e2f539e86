package bus_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/bus/natsserver"
	"cairn/schemas"
)

// restartable starts a server and connects to it; restart restarts it with its data.
func restartable(t *testing.T) (server *natsserver.Server, conn *bus.Conn, restart func()) {
	t.Helper()
	dir := t.TempDir()
	start := func(address string) *natsserver.Server {
		server, err := natsserver.Start(dir, address)
		bustest.Must(t, err)
		return server
	}
	server = start(bustest.FreeAddress(t))
	url := server.URL()
	return server, bustest.DialURL(t, url), func() { t.Cleanup(start(strings.TrimPrefix(url, "nats://")).Stop) }
}

// startServer starts a server that other NATS clients can connect to.
func startServer(t testing.TB) (*bus.Conn, *nats.Conn) {
	t.Helper()
	server := bustest.Listen(t)
	return bustest.Dial(t, server), bustest.Connect(t, server)
}

func TestHostileRequests(t *testing.T) {
	t.Parallel()
	conn, nc := startServer(t)
	s := bustest.Service(t, conn, "tags")
	bustest.Must(t, bus.WriteTag.Serve(s, func(context.Context, schemas.TagWrite) (schemas.TagWritten, error) {
		return schemas.TagWritten{}, schemas.ErrTagExists.Because("not text: \xff")
	}))
	valid := `{"request_id":"r","flow":"f"}`
	for _, row := range []struct {
		name, body string
		header     nats.Header
		want       string
	}{
		{"a request id that is not UTF-8", valid, nats.Header{bus.HeaderRequestID: {"\xff"}}, "CE-021"},
		{"an invalid timeout", valid, nats.Header{bus.HeaderTimeout: {"NaN"}}, "CE-021"},
		{"a body of more than 1 MiB", strings.Repeat(" ", bus.MaxBody) + valid, nil, "CE-002"},
		{"a value that is too long to repeat", `{"request_id":"` + strings.Repeat("x", 900_000) + `"}`, nil, "CE-001"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			reply, err := nc.RequestMsg(&nats.Msg{Subject: bus.WriteTag.Subject, Data: []byte(row.body), Header: row.header},
				2*time.Second)
			bustest.Must(t, err)
			if got := string(reply.Data); !strings.Contains(got, `"code":"`+row.want+`"`) || len(got) > 4096 {
				t.Errorf("got %.300s, want %s", got, row.want)
			}
		})
	}
}

func TestUploads(t *testing.T) {
	t.Parallel()
	conn, nc := startServer(t)
	serve(t, conn, func(_ context.Context, a schemas.Analysis, sender bus.Sender) error {
		return sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: a.Query})
	})
	body := `{"query":"q","context":"{}","target":"H"}`
	for _, row := range []struct {
		name, size string
		chunks     []string
		want       string
	}{
		{"in two chunks", "41", []string{body[:10], body[10:]}, `{"text":"q"}`},
		{"an empty chunk is ignored", "41", []string{body[:10], "", body[10:]}, `{"text":"q"}`},
		{"more than announced", "20", []string{body}, `"code":"AN-400"`},
		{"fewer than announced", "60", []string{body}, `"code":"AN-504"`},
		{"no number", "many", nil, `"code":"AN-400"`},
		{"a negative number", "-1", nil, `"code":"AN-400"`},
		{"more than 10 MiB", "10485761", nil, `"code":"AN-413"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			sub, err := nc.SubscribeSync(nc.NewInbox())
			bustest.Must(t, err)
			request := &nats.Msg{Subject: bus.Analyze.Subject, Reply: sub.Subject,
				Header: nats.Header{bus.HeaderBodySize: {row.size}}}
			bustest.Must(t, nc.PublishMsg(request))
			for sent := false; ; sent = true {
				msg, err := sub.NextMsg(5 * time.Second)
				bustest.Must(t, err)
				if len(msg.Data) > 0 {
					if !strings.Contains(string(msg.Data), row.want) {
						t.Errorf("got %s, want %s", msg.Data, row.want)
					}
					return
				}
				for _, c := range row.chunks {
					if !sent {
						_ = nc.Publish(msg.Header.Get(bus.HeaderBodySubject), []byte(c))
					}
				}
			}
		})
	}
}

func TestOversizedEventLeavesNoGap(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	serve(t, conn, func(_ context.Context, _ schemas.Analysis, sender bus.Sender) error {
		return errors.Join(
			sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "a"}),
			sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: strings.Repeat("x", 9<<20)}))
	})
	events, err := collect(t.Context(), conn, question("{}"))
	want := `text_delta{"text":"a"} error{"code":"AN-500","message":"analysis failed: unexpected error; see the worker log for this request_id"} done{}`
	if got := strings.Join(events, " "); got != want || err != nil {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}
