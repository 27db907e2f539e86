package test

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/tmaxmax/go-sse"
)

const analyze = "POST /api/v1/analyze"

// question returns the body of an analysis; more are further JSON members.
func question(query, context string, members ...string) string {
	members = append([]string{`"query":` + text(query), `"context":` + text(context), `"target":"H"`}, members...)
	return "{" + strings.Join(members, ",") + "}"
}

// event is an event of an answer.
type event struct {
	kind string
	data string
}

// stream is an answer in progress.
type stream struct {
	res  *http.Response
	next func() (event, bool)
	stop func()
}

// follow starts an analysis and returns its stream, which is closed with the test.
func (c *client) follow(t testing.TB, body string) *stream {
	t.Helper()
	return c.stream(t, analyze, body)
}

// stream sends any request and returns its stream.
func (c *client) stream(t testing.TB, request, body string, headers ...string) *stream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	res, err := c.send(ctx, request, strings.NewReader(body), headers...)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	events := make(chan event)
	go func() {
		defer close(events)
		for e, err := range sse.Read(res.Body, &sse.ReadConfig{MaxEventSize: 8 << 20}) {
			if err != nil {
				return // the test fails on the missing end
			}
			if e.LastEventID == "" {
				e.Type = "without id"
			}
			select {
			case events <- event{e.Type, e.Data}:
			case <-ctx.Done():
				return
			}
		}
	}()
	s := &stream{res: res, next: func() (event, bool) { e, ok := <-events; return e, ok }}
	s.stop = func() {
		cancel()
		_ = res.Body.Close()
		for range events { // until the goroutine has ended
		}
	}
	t.Cleanup(s.stop)
	return s
}

// until reads until the text so far equals words, and returns the events.
func (s *stream) until(t testing.TB, words string) []event {
	t.Helper()
	var came []event
	for textOf(t, came) != words {
		e, ok := s.next()
		if !ok {
			t.Fatalf("the stream ended before %q was sent: %v", words, came)
		}
		came = append(came, e)
	}
	return came
}

// cut returns the remaining events of an interrupted stream, which must not include done.
func (s *stream) cut(t testing.TB) []event {
	t.Helper()
	events := s.toEnd(t)
	if len(all(events, "done")) > 0 {
		t.Errorf("%v, want no done", events)
	}
	return events
}

// toEnd returns the remaining events.
func (s *stream) toEnd(t testing.TB) (events []event) {
	t.Helper()
	for e, ok := s.next(); ok; e, ok = s.next() {
		if !json.Valid([]byte(e.data)) {
			t.Errorf("the data of %s is not JSON: %q", e.kind, e.data)
		}
		events = append(events, e)
	}
	return events
}

// rest returns the remaining events, which end with exactly one done.
func (s *stream) rest(t testing.TB) []event {
	t.Helper()
	all := s.toEnd(t)
	ends := 0
	for _, e := range all {
		if e.kind == "done" {
			ends++
		}
	}
	if ends != 1 || all[len(all)-1] != (event{"done", "{}"}) {
		t.Fatalf("want one done, at the end: %v", all)
	}
	return all
}

// analyze sends an analysis and returns all events of the answer.
func (c *client) analyze(t testing.TB, body string) []event {
	t.Helper()
	s := c.follow(t, body)
	if s.res.StatusCode != 200 {
		t.Fatalf("status %d", s.res.StatusCode)
	}
	for name, want := range map[string]string{"Content-Type": "text/event-stream",
		"Cache-Control":     "no-cache, no-transform",
		"X-Accel-Buffering": "no"} {
		if got := s.res.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	return s.rest(t)
}

func kindsOf(events []event) []string {
	var list []string
	for _, e := range events {
		list = append(list, e.kind)
	}
	return list
}

// all returns the data of the events of the kind.
func all(events []event, kind string) []string {
	var list []string
	for _, e := range events {
		if e.kind == kind {
			list = append(list, e.data)
		}
	}
	return list
}

// textOf returns the text of an answer.
func textOf(t testing.TB, events []event) string {
	t.Helper()
	var b strings.Builder
	for _, data := range all(events, "text_delta") {
		b.WriteString(value(t, data).(map[string]any)["text"].(string))
	}
	return b.String()
}

var order = regexp.MustCompile(`^(tool_use tool_result )*(text_delta )+(provenance )?(usage )?done$`)

// inOrder checks the order of events that the contract specifies.
func inOrder(t testing.TB, kinds []string) {
	t.Helper()
	if got := strings.Join(kinds, " "); !order.MatchString(got) {
		t.Errorf("%s: want pairs of tool_use and tool_result, text_delta, done", got)
	}
}
