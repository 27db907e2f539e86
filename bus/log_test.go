package bus_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
)

func TestLogHandler(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	log := slog.New(bus.LogHandler(bus.LogHandler(slog.NewTextHandler(&said, nil))))
	log.InfoContext(t.Context(), "plain")
	ctx := bus.WithIdentity(bus.WithRequestID(t.Context(), "r-1"), &schemas.Identity{ID: "k-1"})
	log.With("service", "tags").InfoContext(ctx, "known")
	plain, known, _ := strings.Cut(said.String(), "\n")
	if strings.Contains(plain, "request_id") || strings.Contains(plain, "by=") {
		t.Errorf("without a request: %s", plain)
	}
	if !strings.Contains(known, "service=tags request_id=r-1 by=k-1\n") {
		t.Errorf("with one: %s", known)
	}
}

// What is asked of a service that does not have it is its caller's mistake.
func TestWhatIsNoFaultIsNotLogged(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	conn := bustest.Open(t)
	s, err := bus.Start(conn, "register", 16, slog.New(slog.NewTextHandler(&said, nil)))
	if err != nil {
		t.Fatal(err)
	}
	answers := []error{schemas.ErrNotImplemented.Because("none"), schemas.ErrInternal.Because("fault")}
	var asked atomic.Int32
	if err := bus.Reindex.Serve(s, func(context.Context, schemas.Nothing) (r schemas.Reindexed, err error) {
		return r, answers[asked.Add(1)-1]
	}); err != nil {
		t.Fatal(err)
	}
	for _, want := range answers {
		if _, err := bus.Reindex.Call(t.Context(), conn, schemas.Nothing{}); err == nil {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := said.String(); strings.Contains(got, "none") || strings.Count(got, "level=ERROR") != 1 || !strings.Contains(got, "fault") {
		t.Errorf("the log has %s", got)
	}
}
