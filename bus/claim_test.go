package bus_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"cairn/bus"
	"cairn/schemas"
)

func TestUnclaimedRun(t *testing.T) {
	t.Parallel()
	conn, nc := startServer(t)
	unresponsive(t, nc, bus.Analyze.Subject, 0)
	for _, err := range bus.Analyze.TryRun(t.Context(), conn, bus.NewRun(), anything) {
		if !errors.Is(err, bus.ErrUnclaimed) || !errors.Is(err, schemas.ErrUnavailable.Analysis()) {
			t.Errorf("got %v, want %v", err, bus.ErrUnclaimed)
		}
	}
}

func TestSlowRunIsClaimed(t *testing.T) {
	t.Parallel()
	conn, _ := startServer(t)
	serve(t, conn, func(ctx context.Context, _ schemas.Analysis, to bus.Sender) error {
		long, cancel := context.WithTimeout(ctx, 2500*time.Millisecond)
		defer cancel()
		<-long.Done()
		return to.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "late"})
	})
	events := 0
	for _, err := range bus.Analyze.TryRun(t.Context(), conn, bus.NewRun(), anything) {
		if err != nil {
			t.Fatal(err)
		}
		events++
	}
	if events != 2 {
		t.Errorf("%d events, want two", events)
	}
}
