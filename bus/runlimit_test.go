package bus_test

import (
	"context"
	"errors"
	"testing"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/test/wait"
)

func TestRunLimitCountsRunsUntilTheyEnd(t *testing.T) {
	t.Parallel()
	server, conn := bustest.Start(t)
	stream := bus.Analyze
	stream.Runs = 1
	release := make(chan struct{})
	setupReplay(t, conn)
	bustest.Must(t, stream.Serve(bustest.Service(t, bustest.Dial(t, server), "analyze"),
		func(ctx context.Context, req schemas.Analysis, sender bus.Sender) error {
			if req.ID == "short" {
				return nil
			}
			sender.Persist()
			if err := sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "started"}); err != nil {
				return err
			}
			<-release
			return nil
		}))
	var name string // of the last run
	run := func(credential, id string) (err error) {
		ctx := t.Context()
		name = bus.NewRun()
		if credential != "" {
			ctx = bus.WithIdentity(ctx, &schemas.Identity{ID: credential, Role: schemas.RoleAnalyst})
		}
		for _, err := range stream.Run(ctx, conn, name, []byte(`{"query":"q","context":"{}","target":"H","id":"`+id+`"}`)) {
			return err // the caller disconnects after the first event
		}
		return nil
	}
	bustest.Must(t, run("ann", "long"))
	if err := run("ann", "short"); !errors.Is(err, schemas.ErrAnalysisTooManyRequests) {
		t.Errorf("a second run while the abandoned one is in progress: got %v, want %v", err,
			schemas.ErrAnalysisTooManyRequests)
	}
	if _, err := resumed(t.Context(), conn, name, 0); !errors.Is(err, schemas.ErrRunNotFound) {
		t.Errorf("resumed the refused run: %v, want that it is not stored", err)
	}
	if err := run("bob", "short"); err != nil {
		t.Errorf("a run of another credential: %v", err)
	}
	if err := run("", "short"); err != nil {
		t.Errorf("a run without authentication: %v", err)
	}
	close(release)
	wait.Success(t, func() error { return run("ann", "short") }) // after the first one has ended
}
