package bus_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
)

// narrow is a service that takes one request at a time, on a connection of its own.
func narrow(t *testing.T, server *bus.Server) *bus.Service {
	t.Helper()
	s, err := bus.Start(bustest.Dial(t, server), "narrow", 1, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}

func TestFullWorkerIsNotTheLastThatIsAsked(t *testing.T) {
	t.Parallel()
	const requests = 40 // half of them meet the full one first
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
	for name, of := range ask {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, conn := bustest.Start(t)
			held, release := make(chan struct{}), make(chan struct{})
			if err := of.serve(narrow(t, server), func() { held <- struct{}{}; <-release }); err != nil {
				t.Fatal(err)
			}
			var first sync.WaitGroup
			first.Go(func() { _ = of.call(t.Context(), conn) })
			<-held
			if err := of.call(t.Context(), conn); err == nil || !strings.Contains(err.Error(), "busy") {
				t.Errorf("the only worker is full: got %v", err)
			}
			if err := of.serve(narrow(t, server), func() {}); err != nil {
				t.Fatal(err)
			}
			refused := 0
			for range requests {
				if err := of.call(t.Context(), conn); err != nil {
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

func TestReaderThatIsTooSlowIsCutOff(t *testing.T) {
	t.Parallel()
	server, conn := bustest.Start(t)
	spoken, stopped := make(chan struct{}), make(chan struct{})
	serve(t, bustest.Dial(t, server), func(ctx context.Context, _ schemas.Analysis, to bus.Sender) error {
		defer close(stopped)
		for range 50_000 {
			_ = to.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "a"})
		}
		close(spoken)
		<-ctx.Done()
		return ctx.Err()
	})
	read, last := 0, error(nil)
	for _, err := range bus.Analyze.Call(t.Context(), conn, question("{}")) {
		if last = err; err == nil {
			read++
		}
		<-spoken
	}
	if !errors.Is(last, schemas.ErrAnalysisUnavailable) || !strings.Contains(last.Error(), "too slow") || read > 40_000 {
		t.Errorf("%d events, and then %v; want a part, and to be told why it ends", read, last)
	}
	<-stopped // the worker is told, too
}
