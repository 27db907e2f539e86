package bus_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
)

func TestBusyWorkerIsRetriedElsewhere(t *testing.T) {
	t.Parallel()
	const requests = 40 // half of them reach the busy worker first
	ask := map[string]struct {
		serve func(*bus.Service, func()) error
		call  func(context.Context, *bus.Conn) error
	}{
		"a request": {
			func(s *bus.Service, hold func()) error {
				return bus.ResolveAgent.Serve(s, func(context.Context, schemas.AgentQuery) (schemas.AgentAnswer, error) {
					hold()
					return schemas.AgentAnswer{}, nil
				})
			},
			func(ctx context.Context, c *bus.Conn) error {
				_, err := bus.ResolveAgent.Call(ctx, c, schemas.AgentQuery{Query: "q"})
				return err
			},
		},
		"a stream": {
			func(s *bus.Service, hold func()) error {
				return bus.Analyze.Serve(s, func(context.Context, schemas.Analysis, bus.Sender) error { hold(); return nil })
			},
			func(ctx context.Context, c *bus.Conn) error {
				_, err := collect(ctx, c, question("{}"))
				return err
			},
		},
	}
	for name, query := range ask {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, conn := bustest.Start(t)
			held, release := make(chan struct{}), make(chan struct{})
			narrow := bustest.ServiceWithSlots(t, bustest.Dial(t, server), "narrow", 1)
			bustest.Must(t, query.serve(narrow, func() { held <- struct{}{}; <-release }))
			var first sync.WaitGroup
			first.Go(func() { _ = query.call(t.Context(), conn) })
			<-held
			if err := query.call(t.Context(), conn); err == nil || !strings.Contains(err.Error(), "busy") {
				t.Errorf("the only worker is busy: got %v", err)
			}
			// The other service has many slots, because each is released a moment after its
			// reply.
			bustest.Must(t, query.serve(bustest.Service(t, bustest.Dial(t, server), "wide"), func() {}))
			refused := 0
			for range requests {
				if err := query.call(t.Context(), conn); err != nil {
					refused++
				}
			}
			if refused > requests/4 {
				t.Errorf("%d of %d were refused although a worker was free", refused, requests)
			}
			close(release)
			first.Wait()
		})
	}
}

func TestFlowControl(t *testing.T) {
	t.Parallel()
	const events = 5000
	server, conn := bustest.Start(t)
	var sent atomic.Int64
	serve(t, bustest.Dial(t, server), func(_ context.Context, _ schemas.Analysis, sender bus.Sender) error {
		for i := range events {
			if err := sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: strconv.Itoa(i)}); err != nil {
				return err
			}
			sent.Add(1)
		}
		return nil
	})
	read := int64(0)
	for event, err := range bus.Analyze.Call(t.Context(), conn, question("{}")) {
		bustest.Must(t, err)
		if event.Type == schemas.EventTextDelta && string(event.Data) != fmt.Sprintf(`{"text":"%d"}`, read) {
			t.Fatalf("event %d is %s", read, event.Data)
		}
		if ahead := sent.Load() - read; ahead > 200 {
			t.Fatalf("the worker is %d events ahead", ahead)
		}
		read++
	}
	if read != events+1 {
		t.Errorf("%d events, want %d and done", read, events)
	}
}

func TestStalledClientIsCanceled(t *testing.T) {
	t.Parallel()
	server, conn := bustest.Start(t)
	ended := make(chan error, 1)
	serve(t, bustest.Dial(t, server), func(_ context.Context, _ schemas.Analysis, sender bus.Sender) (err error) {
		for err == nil {
			err = sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "a"})
		}
		ended <- err
		return err
	})
	var last string
	for event, err := range bus.Analyze.Call(t.Context(), conn, question("{}")) {
		bustest.Must(t, err)
		if ended != nil {
			if err := <-ended; !errors.Is(err, schemas.ErrUnavailable) {
				t.Errorf("the worker received the error %v", err)
			}
			ended = nil
		}
		if event.Type == schemas.EventError {
			last = string(event.Data)
		}
	}
	if !strings.Contains(last, "does not read") {
		t.Errorf("the stream ends with %q, want the reason", last)
	}
}
