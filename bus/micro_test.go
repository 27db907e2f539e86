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
	"cairn/schemas"
	"cairn/test/wait"
)

// TestMicroDescribesEndpoints checks the replies to nats micro info and nats micro stats.
func TestMicroDescribesEndpoints(t *testing.T) {
	t.Parallel()
	conn, nc := startServer(t)
	const processing = 10 * time.Millisecond
	bustest.Must(t, bus.ReadTag.Serve(bustest.Service(t, conn, "tags"),
		func(ctx context.Context, k schemas.TagKey) (schemas.TagFound, error) {
			ctx, cancel := context.WithTimeout(ctx, processing)
			defer cancel()
			<-ctx.Done()
			if k.RequestID == "missing" {
				return schemas.TagFound{}, schemas.ErrTagNotFound
			}
			return schemas.TagFound{}, nil
		}))
	for _, id := range []string{"a", "missing", "b"} {
		_, _ = bus.ReadTag.Call(t.Context(), conn, schemas.TagKey{RequestID: id}) // one fails
	}
	verb := func(verb string, into any) {
		msg, err := nc.Request("$SRV."+verb+".cairn-tags", nil, 10*time.Second)
		bustest.Must(t, err)
		bustest.Must(t, json.Unmarshal(msg.Data, into))
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
		got := stats.Endpoints[0]
		return got.NumRequests == 3 && got.NumErrors == 1 && got.LastError == "CE-022" &&
			got.ProcessingTime >= 3*processing &&
			got.AverageProcessingTime == got.ProcessingTime/3
	})
	var ping micro.Ping
	verb("PING", &ping)
	if ping.Type != micro.PingResponseType || ping.Name != "cairn-tags" || ping.ID != info.ID ||
		info.Version != bus.Version {
		t.Errorf("ping %v of the service %v", ping, info.ServiceIdentity)
	}
}

// TestDiscoveryRepliesToInboxesOnly: a worker publishes with permissions that its clients lack.
func TestDiscoveryRepliesToInboxesOnly(t *testing.T) {
	t.Parallel()
	conn, nc := startServer(t)
	bustest.Service(t, conn, "tags")
	bystander, err := nc.SubscribeSync("$KV.>")
	if err != nil || conn.JetStream().Conn().Flush() != nil {
		t.Fatal(err)
	}
	bustest.Must(t, nc.PublishRequest("$SRV.PING", "$KV.cairn_catalog.x", nil))
	if _, err := nc.Request("$SRV.PING", nil, 10*time.Second); err != nil { // handled after the first
		t.Fatal(err)
	}
	if n, _, err := bystander.Pending(); err != nil || n > 0 {
		t.Errorf("%d replies to a subject that is not an inbox, %v", n, err)
	}
}
