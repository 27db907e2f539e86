package bus

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"cairn/schemas"
)

// TestOverloadIsRefused occupies the only slot of a worker, and uses a reserved one for
// probes.
func TestOverloadIsRefused(t *testing.T) {
	t.Parallel()
	server, err := StartServer(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	conn, err := server.Open("overload")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	service, err := Start(conn, "overload", 1, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = service.Stop(t.Context()) }()
	held := service.gate.Admit("")
	err = DeleteTag.Serve(service, func(context.Context, schemas.TagKey) (schemas.Nothing, error) { return schemas.Nothing{}, nil })
	if err != nil {
		t.Fatal(err)
	}
	err = Health("tags").ServeHealthCheck(service, func(context.Context, schemas.Nothing) (schemas.Health,
		error) {
		return schemas.Health{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = Analyze.Serve(service, func(context.Context, schemas.Analysis, Sender) error { return nil })
	if err != nil {
		t.Fatal(err)
	}

	if _, err := DeleteTag.Call(t.Context(), conn, schemas.TagKey{RequestID: "a"}); err == nil || !strings.Contains(err.Error(), "busy") {
		t.Errorf("a request: got %v", err)
	}
	for _, err := range Analyze.Call(t.Context(), conn, schemas.Analysis{}) {
		if err == nil || !strings.Contains(err.Error(), "busy") {
			t.Errorf("a stream: got %v", err)
		}
	}
	if _, err := Health("tags").Call(t.Context(), conn, schemas.Nothing{}); err != nil {
		t.Errorf("a probe: %v", err)
	}
	held.Close()
	if _, err := DeleteTag.Call(t.Context(), conn, schemas.TagKey{RequestID: "a"}); err != nil {
		t.Errorf("with time for one: %v", err)
	}
}
