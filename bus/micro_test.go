package bus_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/micro"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/bus/telemetry"
	"cairn/schemas"
	"cairn/test/wait"
)

// TestMicroDescribesEndpoints reads what nats micro info and nats micro stats print.
func TestMicroDescribesEndpoints(t *testing.T) {
	t.Parallel()
	conn, nc := startServer(t)
	err := bus.ReadTag.Serve(bustest.Service(t, conn, "tags"), func(_ context.Context, k schemas.TagKey) (schemas.TagFound, error) {
		if k.RequestID == "missing" {
			return schemas.TagFound{}, schemas.ErrTagNotFound
		}
		return schemas.TagFound{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "missing", "b"} {
		_, _ = bus.ReadTag.Call(t.Context(), conn, schemas.TagKey{RequestID: id}) // one fails
	}
	verb := func(verb string, into any) {
		msg, err := nc.Request("$SRV."+verb+".cairn-tags", nil, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(msg.Data, into); err != nil {
			t.Fatal(err)
		}
	}
	var info micro.Info
	verb("INFO", &info)
	metadata := info.Endpoints[0].Metadata
	if metadata["description"] != bus.ReadTag.Summary || !strings.Contains(metadata["request_schema"], `"request_id"`) ||
		!strings.Contains(metadata["response_schema"], `"tags"`) {
		t.Errorf("metadata %v, want the description and both schemas", metadata)
	}
	wait.Until(t, "three requests are counted", func() bool {
		var stats micro.Stats
		verb("STATS", &stats)
		var got telemetry.Totals
		if err := json.Unmarshal(stats.Endpoints[0].Data, &got); err != nil {
			t.Fatal(err)
		}
		return got.Requests == 3 && got.Errors == 1 && got.LastError == "CE-022" && got.ProcessingTime > 0 &&
			got.AverageProcessingTime == got.ProcessingTime/3
	})
}
