package bus_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/test/wait"
)

// TestStreamAdmitsBySize serves with two workers, one of which admits no body
// beyond 1 MB.
func TestStreamAdmitsBySize(t *testing.T) {
	t.Parallel()
	server, conn := bustest.Start(t)
	type key struct{}
	released := make(chan int, 16)
	worker := func(most int) {
		s := bus.Analyze
		s.Admit = func(ctx context.Context, size int) (context.Context, func(), error) {
			if size > most {
				return ctx, nil, schemas.ErrUnavailable.Because("no memory")
			}
			return context.WithValue(ctx, key{}, size), func() { released <- size }, nil
		}
		bustest.Must(t, s.Serve(bustest.Service(t, bustest.Dial(t, server), "analyze"),
			func(ctx context.Context, a schemas.Analysis, sender bus.Sender) error {
				if size, _ := ctx.Value(key{}).(int); size < len(a.Context) {
					t.Errorf("a body with a context of %d bytes was admitted as %d", len(a.Context), size)
				}
				return sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "ok"})
			}))
	}
	worker(1_000_000)
	for _, c := range []struct {
		name string
		size int
		want *schemas.Error
	}{
		{"a small body is admitted", 10, nil},
		{"a body in chunks that is too large for the worker is refused", 5_000_000, schemas.ErrAnalysisUnavailable},
		{"a body in the request that is too large for the worker is refused", 1_000_001, schemas.ErrAnalysisUnavailable},
	} {
		_, err := collect(t.Context(), conn, question(strings.Repeat("x", c.size)))
		if c.want == nil && err != nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
	select {
	case <-released:
	case <-time.After(wait.Timeout):
		t.Error("the admitted request was not released")
	}
	if len(released) != 0 {
		t.Error("a refused request was released")
	}
	worker(10_000_000)
	for range 4 {
		if _, err := collect(t.Context(), conn, question(strings.Repeat("x", 5_000_000))); err == nil {
			return
		}
	}
	t.Error("a body that one worker refuses was never sent to the other")
}
