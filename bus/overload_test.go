package bus_test

import (
	"context"
	"strings"
	"testing"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
)

// TestOverloadIsRefused occupies the only slot of a worker, and uses a reserved one for
// probes.
func TestOverloadIsRefused(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	service := bustest.ServiceWithSlots(t, conn, "overload", 1)
	release := bus.Occupy(service)
	err := bus.DeleteTag.Serve(service, func(context.Context, schemas.TagKey) (schemas.Nothing, error) {
		return schemas.Nothing{}, nil
	})
	bustest.Must(t, err)
	err = bus.ServeHealth(service, "tags", func(context.Context) (schemas.Health, error) {
		return schemas.Health{}, nil
	}, nil)
	bustest.Must(t, err)
	err = bus.Analyze.Serve(service, func(context.Context, schemas.Analysis, bus.Sender) error { return nil })
	bustest.Must(t, err)

	if _, err := bus.DeleteTag.Call(t.Context(), conn, schemas.TagKey{RequestID: "a"}); err == nil ||
		!strings.Contains(err.Error(), "busy") {
		t.Errorf("a request: got %v", err)
	}
	for _, err := range bus.Analyze.Call(t.Context(), conn, schemas.Analysis{}) {
		if err == nil || !strings.Contains(err.Error(), "busy") {
			t.Errorf("a stream: got %v", err)
		}
	}
	if _, err := bus.Health("tags").Call(t.Context(), conn, schemas.Nothing{}); err != nil {
		t.Errorf("a probe: %v", err)
	}
	release()
	if _, err := bus.DeleteTag.Call(t.Context(), conn, schemas.TagKey{RequestID: "a"}); err != nil {
		t.Errorf("with a sufficient timeout: %v", err)
	}
}
