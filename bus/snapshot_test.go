package bus_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/test/wait"
)

// TestSnapshot reads the events of a run until now, and does not wait for further ones.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	server, conn := bustest.Start(t)
	keep(t, conn)
	leave := make(chan struct{})
	serve(t, bustest.Dial(t, server), func(ctx context.Context, _ schemas.Analysis, to bus.Sender) error {
		to.Continue()
		err := errors.Join(to.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "a"}), to.Send(schemas.EventTextDelta,
			schemas.TextDelta{Text: "b"}))
		select {
		case <-leave:
		case <-ctx.Done():
		}
		return err
	})
	run := bus.NewRun()
	listen(t, conn, run, 2)
	snapshot := func() (kinds []string) {
		for event, err := range bus.Analyze.Snapshot(t.Context(), conn, run) {
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, event.Type)
		}
		return kinds
	}
	stored := func() bus.StoredRun {
		list, err := bus.Analyze.Stored(t.Context(), conn)
		if err != nil || len(list) != 1 || list[0].Name != run || list[0].Updated.IsZero() {
			t.Fatalf("%+v, %v", list, err)
		}
		return list[0]
	}
	if got := fmt.Sprint(snapshot()); got != "[text_delta text_delta]" || stored().Ended {
		t.Errorf("%s, %+v", got, stored())
	}
	close(leave)
	if _, err := resumed(t.Context(), conn, run, 2); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(snapshot()); got != "[text_delta text_delta done]" || !stored().Ended {
		t.Errorf("%s, %+v", got, stored())
	}
	for _, err := range bus.Analyze.Snapshot(t.Context(), conn, bus.NewRun()) {
		if !errors.Is(err, schemas.ErrRunNotFound) {
			t.Errorf("an unknown run: %v", err)
		}
	}
}

// TestStoredRuns reports no runs, and fails without a replay stream and for too many runs.
func TestStoredRuns(t *testing.T) {
	t.Parallel()
	server := bustest.Listen(t)
	conn := bustest.Dial(t, server)
	if list, err := bus.Analyze.Stored(t.Context(), conn); !errors.Is(err, schemas.ErrAnalysisUnavailable) {
		t.Errorf("without a replay stream: %+v, %v", list, err)
	}
	keep(t, conn)
	if list, err := bus.Analyze.Stored(t.Context(), conn); err != nil || len(list) != 0 {
		t.Errorf("without a run: %+v, %v", list, err)
	}
	nc := bustest.Connect(t, server)
	for i := range 1025 {
		if err := nc.Publish(fmt.Sprintf("cairn.analyze.r%d.replay", i), []byte(": started\n\n")); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "a listing of too many runs fails", func() bool { // they are stored asynchronously
		_, err := bus.Analyze.Stored(t.Context(), conn)
		return errors.Is(err, schemas.ErrAnalysisUnavailable)
	})
}
