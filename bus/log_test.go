package bus_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"cairn/bus"
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
