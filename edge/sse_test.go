package edge_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/edge"
	"cairn/schemas"
	"cairn/test/wait"
)

const question = `{"query":"q","context":"{}","target":"H"}`

// analyses serves analyses with handle.
func analyses(t testing.TB, f *testEdge, handle func(context.Context, bus.Sender) error) {
	t.Helper()
	stream := bus.Analyze
	stream.Grace = 0
	must(t, stream.Serve(f.service, func(ctx context.Context, _ schemas.Analysis, s bus.Sender) error {
		return handle(ctx, s)
	}))
}

func TestStreamOnTheWire(t *testing.T) {
	t.Parallel()
	f := open(t)
	analyses(t, f, func(_ context.Context, s bus.Sender) error {
		return errors.Join(
			s.Send(schemas.EventToolUse,
				schemas.ToolUse{ToolCallID: "1", Name: "inspect_schema", Input: []byte("{\n\"data_key\": \"x\"\r\n}")}),
			s.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "a < b > c & \"d\"\né"}))
	})
	got := f.request(t, "POST", "/api/v1/analyze", strings.NewReader(question))
	want := `id: 1
event: tool_use
data: {"tool_call_id":"1","name":"inspect_schema","input":{"data_key":"x"}}

id: 2
event: text_delta
data: {"text":"a < b > c & \"d\"\né"}

id: 3
event: done
data: {}

`
	if diff := cmp.Diff(want, got.body); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for name, want := range map[string]string{"Content-Type": "text/event-stream",
		"Cache-Control":     "no-cache, no-transform",
		"X-Accel-Buffering": "no"} {
		if got.header.Get(name) != want {
			t.Errorf("%s %q, want %q", name, got.header.Get(name), want)
		}
	}
}

func TestErrorsOfAnalyses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		body   string
		handle func(context.Context, bus.Sender) error
		status int
		code   string // in the error body or the error event
	}{
		{"no JSON", `{`, nil, 400, "AN-400"},
		{"no query", `{"query":"","context":"{}","target":"H"}`, nil, 400, "AN-400"},
		{"an internal error before the first event", question,
			func(context.Context, bus.Sender) error { return errors.New("secret") }, 500, "AN-500"},
		{"a known error before the first event", question,
			func(context.Context, bus.Sender) error {
				return schemas.ErrUnavailable.Because("the model is unavailable")
			}, 503, "AN-503"},
		{"too many requests", question,
			func(context.Context, bus.Sender) error { return schemas.ErrTooManyRequests }, 429, "AN-429"},
		{"a panic before the first event", question,
			func(context.Context, bus.Sender) error { panic("secret") }, 500, "AN-500"},
		{"a timeout before the first event", question,
			func(ctx context.Context, _ bus.Sender) error { <-ctx.Done(); return ctx.Err() }, 504, "AN-504"},
		{"an error after the first event", question,
			func(_ context.Context, s bus.Sender) error {
				return errors.Join(s.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "x"}), errors.New("secret"))
			}, 200, "AN-500"},
		{"a timeout after the first event", question,
			func(ctx context.Context, s bus.Sender) error {
				must(t, s.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "x"}))
				<-ctx.Done()
				return ctx.Err()
			}, 200, "AN-504"},
		{"a panic after the first event", question,
			func(_ context.Context, s bus.Sender) error {
				must(t, s.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "x"}))
				panic("secret")
			}, 200, "AN-500"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := open(t, func(c *edge.Config) { c.AnalyzeTimeout = 200 * time.Millisecond })
			analyses(t, f, c.handle)
			got := f.request(t, "POST", "/api/v1/analyze", strings.NewReader(c.body))
			if got.status != c.status || !strings.Contains(got.body, `"code":"`+c.code+`"`) {
				t.Errorf("%d %s, want %d %s", got.status, got.body, c.status, c.code)
			}
			if strings.Contains(got.body, "secret") {
				t.Errorf("the internal error is returned: %s", got.body)
			}
			if c.status == 200 && (strings.Count(got.body, "event: done") != 1 || strings.Count(got.body, "event: error") != 1) {
				t.Errorf("want one error and one done:\n%s", got.body)
			}
		})
	}
}

// reading is the response of a stream.
type reading struct {
	res   *http.Response
	lines *bufio.Scanner
}

// stream requests an analysis and reads the header of the response.
func (f *testEdge) stream(t testing.TB) reading {
	t.Helper()
	res := f.open(t, "POST /api/v1/analyze", strings.NewReader(question))
	return reading{res, bufio.NewScanner(res.Body)}
}

// until reads up to and including the line.
func (r reading) until(t testing.TB, line string) {
	t.Helper()
	var read []string
	for r.lines.Scan() {
		if r.lines.Text() == line {
			return
		}
		read = append(read, r.lines.Text())
	}
	t.Fatalf("the stream ended before %q: %v\n%s", line, r.lines.Err(), strings.Join(read, "\n"))
}

// A worker on a suspended machine receives an analysis and does not reply.
func TestAnalyzeRetriesUnconfirmedRun(t *testing.T) {
	t.Parallel()
	server := bustest.Listen(t)
	nc := bustest.Connect(t, server)
	f := serve(t, bustest.Dial(t, server))
	f.service = bustest.Service(t, bustest.Dial(t, server), "stub")
	analyses(t, f, func(context.Context, bus.Sender) error { return nil })
	var taken atomic.Bool
	silent, err := nc.QueueSubscribe(bus.Analyze.Subject, "q", func(*nats.Msg) { taken.Store(true) })
	must(t, err)
	must(t, silent.AutoUnsubscribe(1))
	must(t, nc.Flush())
	for !taken.Load() {
		if got := f.request(t, http.MethodPost, "/api/v1/analyze", strings.NewReader(question)); got.status != http.StatusOK {
			t.Fatalf("%d %s", got.status, got.body)
		}
	}
}

// With all workers suspended, the last attempt ends after the heartbeat timeout.
func TestAnalyzeUnconfirmedTimeout(t *testing.T) {
	t.Parallel()
	server := bustest.Listen(t)
	nc := bustest.Connect(t, server)
	f := serve(t, bustest.Dial(t, server))
	var received, canceled atomic.Int32
	_, err := nc.Subscribe(bus.Analyze.Subject, func(*nats.Msg) { received.Add(1) })
	must(t, err)
	_, err = nc.Subscribe(bus.Analyze.Subject+".*", func(m *nats.Msg) {
		if m.Header.Get(bus.HeaderCancel) != "" {
			canceled.Add(1)
		}
	})
	must(t, err)
	must(t, nc.Flush())
	got := f.request(t, http.MethodPost, "/api/v1/analyze", strings.NewReader(question))
	if got.status != http.StatusServiceUnavailable || got.problem(t).Code != "AN-503" {
		t.Errorf("got %d %s, want 503 AN-503", got.status, got.body)
	}
	wait.Until(t, "each run is canceled", func() bool { return canceled.Load() == 3 })
	if received.Load() != 3 {
		t.Errorf("%d asked, want 3", received.Load())
	}
}

func TestEventsAreNotBuffered(t *testing.T) {
	t.Parallel()
	f := open(t)
	next := make(chan struct{})
	analyses(t, f, func(_ context.Context, s bus.Sender) error {
		for i := range 3 {
			must(t, s.Send(schemas.EventTextDelta, schemas.TextDelta{Text: fmt.Sprint(i)}))
			<-next
		}
		return nil
	})
	r := f.stream(t)
	for i := range 3 {
		r.until(t, fmt.Sprintf(`data: {"text":"%d"}`, i))
		next <- struct{}{}
	}
	r.until(t, "event: done")
}

func TestManyEventsArriveInOrder(t *testing.T) {
	t.Parallel()
	f := open(t)
	const many = 20_000
	analyses(t, f, func(_ context.Context, s bus.Sender) (err error) {
		for i := range many {
			err = errors.Join(err, s.Send(schemas.EventTextDelta, schemas.TextDelta{Text: fmt.Sprint(i)}))
		}
		return err
	})
	var want strings.Builder
	for i := range many {
		fmt.Fprintf(&want, "id: %d\nevent: text_delta\ndata: {\"text\":\"%d\"}\n\n", i+1, i)
	}
	fmt.Fprintf(&want, "id: %d\nevent: done\ndata: {}\n\n", many+1)
	if got := f.request(t, "POST", "/api/v1/analyze", strings.NewReader(question)); got.body != want.String() {
		t.Errorf("%d bytes, want %d", len(got.body), want.Len())
	}
}

func TestKeepAliveComments(t *testing.T) {
	t.Parallel()
	f := open(t, func(c *edge.Config) { c.SetKeepAlive(20 * time.Millisecond) })
	next := make(chan struct{})
	analyses(t, f, func(_ context.Context, s bus.Sender) error {
		<-next
		must(t, s.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "x"}))
		<-next
		return schemas.ErrUnavailable
	})
	r := f.stream(t) // the header is sent before the first event
	r.until(t, ": alive")
	r.until(t, ": alive")
	next <- struct{}{}
	r.until(t, "id: 1")
	r.until(t, ": alive")
	next <- struct{}{}
	r.until(t, "event: error")
	r.until(t, "event: done")
}

func TestAnErrorAfterACommentIsAnEvent(t *testing.T) {
	t.Parallel()
	f := open(t, func(c *edge.Config) { c.SetKeepAlive(20 * time.Millisecond) })
	next := make(chan struct{})
	analyses(t, f, func(context.Context, bus.Sender) error {
		<-next
		return schemas.ErrUnavailable.Because("the model is unavailable")
	})
	r := f.stream(t)
	r.until(t, ": alive")
	close(next)
	r.until(t, "event: error")
	r.until(t, `data: {"code":"AN-503","message":"dependency unavailable: the model is unavailable"}`)
	r.until(t, "event: done") // final events have no id, because they are not part of the run
	r.until(t, "data: {}")
}

func TestDisconnectCancelsAnalysis(t *testing.T) {
	t.Parallel()
	f := open(t)
	for _, speaks := range []bool{true, false} {
		t.Run(fmt.Sprintf("after the first event: %t", speaks), func(t *testing.T) {
			f.service = bustest.Service(t, f.conn, "stub")
			began, ended := make(chan struct{}), make(chan struct{})
			analyses(t, f, func(ctx context.Context, s bus.Sender) error {
				if speaks {
					must(t, s.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "x"}))
				}
				close(began)
				<-ctx.Done()
				close(ended)
				return ctx.Err()
			})
			f.disconnect(t, "/api/v1/analyze", strings.NewReader(question), began)
			select {
			case <-ended:
			case <-time.After(wait.Timeout):
				t.Error("the worker still runs")
			}
		})
	}
}
