package bus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/test/wait"
)

func question(context string) schemas.Analysis {
	return schemas.Analysis{Query: "how many?", Context: context, Target: "H"}
}

// serve answers analyses with handle.
func serve(t *testing.T, conn *bus.Conn, handle func(context.Context, schemas.Analysis, bus.Sender) error) {
	t.Helper()
	bustest.Must(t, bus.Analyze.Serve(bustest.Service(t, conn, "analyze"), handle))
}

// collect returns the types and data of a stream's events, and its final error.
func collect(ctx context.Context, conn *bus.Conn, a schemas.Analysis) (events []string, err error) {
	for event, err := range bus.Analyze.Call(ctx, conn, a) {
		if err != nil {
			return events, err
		}
		events = append(events, event.Type+string(event.Data))
	}
	return events, nil
}

func TestStream(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	serve(t, conn, func(_ context.Context, a schemas.Analysis, sender bus.Sender) error {
		switch a.Context {
		case "refuse":
			return schemas.ErrMalformed.Because("no")
		case "break":
			_ = sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "a"})
			return errors.New("pipe burst")
		case "panic":
			panic("boom")
		}
		return sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: fmt.Sprint("<", len(a.Context), ">")})
	})
	for _, row := range []struct {
		name, context, events string
		want                  *schemas.Error
	}{
		{"events, then done", "{}", `text_delta{"text":"<2>"} done{}`, nil},
		{"a body larger than max_payload", strings.Repeat("x", 10_000_000), `text_delta{"text":"<10000000>"} done{}`, nil},
		{"an error before the first event is the whole answer", "refuse", "", schemas.ErrAnalysisMalformed},
		{"a later error is an event, followed by done", "break",
			`text_delta{"text":"a"} error{"code":"AN-500","message":"analysis failed: unexpected error; see the worker log for this request_id"} done{}`, nil},
		{"a panic", "panic", "", schemas.ErrAnalysisInternal},
		{"an invalid request", "", "", schemas.ErrAnalysisMalformed},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			events, err := collect(t.Context(), conn, question(row.context))
			if got := strings.Join(events, " "); got != row.events {
				t.Errorf("got %s, want %s", got, row.events)
			}
			if row.want == nil && err != nil || row.want != nil && !errors.Is(err, row.want) {
				t.Errorf("got %v, want %v", err, row.want)
			}
		})
	}
}

func TestStreamIsCanceledOnDisconnect(t *testing.T) {
	t.Parallel()
	server, conn := bustest.Start(t)
	worker := bustest.Dial(t, server)
	ended := make(chan error, 1)
	serve(t, worker, func(ctx context.Context, _ schemas.Analysis, sender bus.Sender) error {
		_ = sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "a"})
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	})
	for _, err := range bus.Analyze.Call(t.Context(), conn, question("{}")) {
		bustest.Must(t, err)
		break
	}
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
	case <-time.After(wait.Timeout):
		t.Fatal("the worker still runs after the client disconnected")
	}
}

func TestStreamWithoutSubscriberIsCanceled(t *testing.T) {
	t.Parallel()
	conn, nc := startServer(t)
	ended := make(chan struct{})
	serve(t, conn, func(ctx context.Context, _ schemas.Analysis, sender bus.Sender) error {
		defer close(ended)
		for ctx.Err() == nil {
			_ = sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "a"})
		}
		return ctx.Err()
	})
	bustest.Must(t, nc.PublishRequest(bus.Analyze.Subject, "_INBOX.nobody", anything))
	select {
	case <-ended:
	case <-time.After(wait.Timeout):
		t.Fatal("the worker sends events without a subscriber")
	}
}

func TestStreamTimeout(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	short := bus.Analyze
	short.Timeout = 300 * time.Millisecond
	bustest.Must(t, short.Serve(bustest.Service(t, conn, "analyze"),
		func(ctx context.Context, _ schemas.Analysis, sender bus.Sender) error {
			_ = sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "a"})
			<-ctx.Done()
			return ctx.Err()
		}))
	events, err := collect(t.Context(), conn, question("{}"))
	want := `text_delta{"text":"a"} error{"code":"AN-504","message":"analysis timed out: the worker did not finish within the deadline of the request"} done{}`
	if got := strings.Join(events, " "); got != want || err != nil {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}
