package bus_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
)

// Workers authorize the identity in the header, and refuse an invalid one, on every
// kind of endpoint.
func TestIdentity(t *testing.T) {
	t.Parallel()
	conn, nc := startServer(t)
	svc := bustest.Service(t, conn, "tags")
	bustest.Must(t, bus.ReadTag.Serve(svc, func(ctx context.Context, k schemas.TagKey) (schemas.TagFound, error) {
		who := "nobody"
		if caller := bus.Identity(ctx); caller != nil {
			who = caller.ID + " of " + *k.TenantID
		}
		return schemas.TagFound{Tags: schemas.Tag{Flow: who}}, nil
	}))
	serve(t, conn, func(context.Context, schemas.Analysis, bus.Sender) error { return nil })
	for _, row := range []struct{ subject, header, want string }{
		{"cairn.tags.read", "", `"flow":"nobody"`},
		{"cairn.tags.read", `{"id":"k","role":"reader","tenants":["acme"]}`, `"flow":"k of acme"`},
		{"cairn.tags.read", `{"id":"k","role":"king"}`, "CE-007"},
		{"cairn.tags.read", `{"id":"k"}`, "CE-007"},
		{"cairn.tags.read", "acme", "CE-007"},
		{"cairn.tags.read", "{", "CE-007"},
		{"cairn.tags.read", `{"id":"k","role":"reader","tenants":["` + strings.Repeat("t", 6000) + `"]}`,
			"CE-007"}, // would exceed the maximum length of a subject
		{"cairn.tags.read", `{"id":"k","role":"reader","tenants":["_global"]}`, "CE-007"},
		{"cairn.analyze", `{"id":"k","role":"reader"}`, "AN-403"},
		{"cairn.analyze", "acme", "AN-403"},
	} {
		msg := nats.NewMsg(row.subject)
		msg.Data = []byte(`{"request_id":"r"}`)
		if row.header != "" {
			msg.Header.Set(bus.HeaderIdentity, row.header)
		}
		reply, err := nc.RequestMsg(msg, 10*time.Second)
		if err != nil || !strings.Contains(string(reply.Data), row.want) {
			t.Errorf("%s of %q: got %s, %v, want %s", row.subject, row.header, reply.Data, err, row.want)
		}
	}
}
