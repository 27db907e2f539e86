package bus_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
)

func TestUnconfirmedRun(t *testing.T) {
	t.Parallel()
	conn, nc := startServer(t)
	unresponsive(t, nc, bus.Analyze.Subject, 0)
	for name, row := range map[string]struct{ names, attempts int }{
		"it is retried as a new run, at most twice": {10, 3},
		"an empty name ends the retries":            {1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var names []string
			newName := func() string {
				if len(names) == row.names {
					return ""
				}
				names = append(names, bus.NewRun())
				return names[len(names)-1]
			}
			for _, err := range bus.Analyze.Start(t.Context(), conn, newName, anything) {
				if !errors.Is(err, schemas.ErrUnavailable.Analysis()) {
					t.Errorf("got %v, want %v", err, schemas.ErrUnavailable.Analysis())
				}
			}
			if len(names) != row.attempts {
				t.Errorf("%d attempts, want %d", len(names), row.attempts)
			}
		})
	}
}

func TestSlowRunIsConfirmed(t *testing.T) {
	t.Parallel()
	conn, _ := startServer(t)
	serve(t, conn, func(ctx context.Context, _ schemas.Analysis, sender bus.Sender) error {
		long, cancel := context.WithTimeout(ctx, 2500*time.Millisecond)
		defer cancel()
		<-long.Done()
		return sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "late"})
	})
	events := 0
	for _, err := range bus.Analyze.Start(t.Context(), conn, bus.NewRun, anything) {
		bustest.Must(t, err)
		events++
	}
	if events != 2 {
		t.Errorf("%d events, want two", events)
	}
}
