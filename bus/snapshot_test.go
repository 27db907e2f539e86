package bus_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/test/wait"
)

// TestSnapshot reads the events of a run until now, and does not wait for further ones.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	server, conn := bustest.Start(t)
	setupReplay(t, conn)
	leave := make(chan struct{})
	serve(t, bustest.Dial(t, server), func(ctx context.Context, _ schemas.Analysis, sender bus.Sender) error {
		sender.Persist()
		err := errors.Join(sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "a"}),
			sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "b"}))
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
			bustest.Must(t, err)
			kinds = append(kinds, event.Type)
		}
		return kinds
	}
	stored := func() bus.StoredRun {
		list, err := bus.Analyze.Stored(t.Context(), conn, nil)
		if err != nil || len(list) != 1 || list[0].Name != run || list[0].Updated.IsZero() {
			t.Fatalf("%+v, %v", list, err)
		}
		return list[0]
	}
	if got := fmt.Sprint(snapshot()); got != "[text_delta text_delta]" || stored().State != schemas.RunRunning {
		t.Errorf("%s, %+v", got, stored())
	}
	close(leave)
	if _, err := resumed(t.Context(), conn, run, 2); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(snapshot()); got != "[text_delta text_delta done]" || stored().State == schemas.RunRunning {
		t.Errorf("%s, %+v", got, stored())
	}
	for _, err := range bus.Analyze.Snapshot(t.Context(), conn, bus.NewRun()) {
		if !errors.Is(err, schemas.ErrRunNotFound) {
			t.Errorf("an unknown run: %v", err)
		}
	}
}

// TestStatesOfRuns lists runs with the state that their end gives them.
func TestStatesOfRuns(t *testing.T) {
	t.Parallel()
	server, conn := bustest.Start(t)
	setupReplay(t, conn)
	serve(t, bustest.Dial(t, server), func(ctx context.Context, a schemas.Analysis, sender bus.Sender) error {
		if err := many(ctx, a, sender); err != nil {
			return err
		}
		switch a.Query {
		case schemas.RunFailed:
			return schemas.ErrInternal.Because("the model is gone")
		case schemas.RunDone:
			return nil
		}
		sender.Persist()
		<-ctx.Done()
		return context.Cause(ctx)
	})
	before := time.Now().Add(-time.Second)
	for _, state := range []string{schemas.RunDone, schemas.RunFailed, schemas.RunRunning, schemas.RunCanceled} {
		read := 0
		for _, err := range bus.Analyze.Run(t.Context(), conn, state,
			[]byte(`{"query":"`+state+`","context":"{}","target":"H"}`)) {
			bustest.Must(t, err)
			if read++; read == 700 && (state == schemas.RunRunning || state == schemas.RunCanceled) {
				break
			}
		}
	}
	bustest.Must(t, bus.Analyze.Cancel(t.Context(), conn, schemas.RunCanceled))
	wait.Until(t, "each run has its state", func() bool {
		list, err := bus.Analyze.Stored(t.Context(), conn, nil)
		bustest.Must(t, err)
		for _, r := range list {
			if r.State != r.Name {
				return false
			}
			if r.Started.Before(before) || r.Started.After(r.Updated.Add(time.Second)) {
				t.Errorf("%s: started at %s, updated at %s", r.Name, r.Started, r.Updated)
			}
		}
		return len(list) == 4
	})
	bustest.Must(t, bus.Analyze.Cancel(t.Context(), conn, schemas.RunRunning))
}

// TestPageOfRuns reads a list in pages, between which runs are added and removed.
func TestPageOfRuns(t *testing.T) {
	t.Parallel()
	started := func(r bus.StoredRun) time.Time { return r.Started }
	run := func(name string, second int64) bus.StoredRun {
		return bus.StoredRun{Name: name, Started: time.Unix(second, 0)}
	}
	names := func(list []bus.StoredRun) (joined string) {
		for _, r := range list {
			joined += r.Name
		}
		return joined
	}
	page, next, err := bus.PageOfRuns([]bus.StoredRun{run("d", 1), run("b", 2), run("a", 3), run("c", 2)}, started, "", 2)
	if err != nil || names(page) != "ab" || next == "" {
		t.Errorf("first page: %s, %q, %v", names(page), next, err)
	}
	page, next, err = bus.PageOfRuns([]bus.StoredRun{run("d", 1), run("a", 3), run("c", 2), run("new", 4)}, started, next,
		2)
	if err != nil || names(page) != "cd" || next != "" {
		t.Errorf("last page: %s, %q, %v", names(page), next, err)
	}
	for _, cursor := range []string{"!", "YQ", "-"} {
		if _, _, err := bus.PageOfRuns(nil, started, cursor, 2); !errors.Is(err, bus.ErrCursor) {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
}

// TestStoredRuns lists no runs, fails without a replay stream, and lists those of the caller among
// those of other tenants.
func TestStoredRuns(t *testing.T) {
	t.Parallel()
	server := bustest.Listen(t)
	conn := bustest.Dial(t, server)
	if list, err := bus.Analyze.Stored(t.Context(), conn, nil); !errors.Is(err, schemas.ErrUnavailable) {
		t.Errorf("without a replay stream: %+v, %v", list, err)
	}
	setupReplay(t, conn)
	if list, err := bus.Analyze.Stored(t.Context(), conn, nil); err != nil || len(list) != 0 {
		t.Errorf("without a run: %+v, %v", list, err)
	}
	nc := bustest.Connect(t, server)
	acme, globex := &schemas.Identity{ID: "a", Tenants: []string{"acme"}},
		&schemas.Identity{ID: "g", Tenants: []string{"globex"}}
	const runsOfAcme, runsOfGlobex = 3000, 10
	for i := range runsOfAcme + runsOfGlobex {
		caller := acme
		if i >= runsOfAcme {
			caller = globex
		}
		bustest.Must(t, nc.Publish("cairn.analyze."+bus.NameRun(caller, fmt.Sprint("r", i))+".replay",
			[]byte(": started\n\n")))
	}
	bustest.Must(t, nc.Flush())
	for caller, want := range map[*schemas.Identity]int{acme: runsOfAcme, globex: runsOfGlobex,
		nil: runsOfAcme + runsOfGlobex} {
		wait.Until(t, "all runs of the caller are listed", func() bool { // they are stored asynchronously
			list, err := bus.Analyze.Stored(t.Context(), conn, caller)
			bustest.Must(t, err)
			return len(list) == want
		})
	}
}
