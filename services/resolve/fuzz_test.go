package resolve_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/schemas"
)

// FuzzResolve stores arbitrary records under arbitrary keys and sends arbitrary
// requests of a tenant: the response is JSON or a client error and contains no data
// of another tenant.
func FuzzResolve(f *testing.F) {
	for _, seed := range [][3]string{
		{"skill.acme.=YQ", `{"tool_ids":["f.f.f"],"context_builder_ids":["f.f.f"],"guardrail_ids":["f.f.f"],"template_id":"f.f.f","score":1}`,
			`{"skill_id":"f.f.f","tool_ids":["f.f.f","o.o.o"],"tool_class":"x","query":"f"}`},
		{"tool.other.f.f.f", `{"tool_class":"x","provider":7}`, `{"query":"f o","top_k":100,"explain":true,"cursor":"dG8"}`},
		{"skill._global.f", "{\"sc\\u006fre\":[],\n \"status\":\"active\"}",
			`{"tenant_id":"acme","limit":1,"cursor":"Z2Y","domain":"f"}`},
		{"a b", `{"skill_ids":["f.f.f"],"domain":"f","context_type":null,"tool_ids":null}`,
			`{"skill_id":"o.o.o","tool_ids":["o.o.o"],"tool_class":"o","query":"o"}`},
		{"skill", `null`, `{"tenant_id":"other","skill_id":"o.o.o"}`}, {"king..x", `{"a":1,"a":2}`, `{"cursor":"dA"}`},
		{"agent.=.=", "{\"purpose\":\"\xff\"}", `{"query":"\u0000","search":"x"}`}, {">", ``, ``},
		{"tool.acme.=YS5i", `{"tool_id":[`, `[]`},
	} {
		f.Add(seed[0], []byte(seed[1]), []byte(seed[2]))
	}
	w := newWorld(f)
	w.serve()
	for _, kind := range schemas.Kinds() {
		w.put(kind, "other", "o.o.o",
			`{"name":"HUSH","tool_class":"o","domain":"f","skill_ids":["f.f.f"],"tool_ids":["f.f.f"]}`)
	}
	f.Fuzz(func(t *testing.T, key string, record, body []byte) {
		if aKey.MatchString(key) && len(key) < 1000 && !strings.Contains(key, ".other.o.o.o") {
			subject := "$KV.cairn_catalog." + key
			w.raw(t, subject, record)
			defer func() {
				_, _ = w.conn.JetStream().PublishMsg(t.Context(),
					bucket.Marker(subject))
			}() // after an error the catalog is slightly larger
		}
		var revision uint64
		for _, kind := range schemas.Kinds() {
			revision = w.raw(t, "$KV.cairn_catalog."+kind+".acme.f.f.f", record)
		}
		ctx := bus.WithIdentity(bus.WithTokens(t.Context(), schemas.ConsistencyToken{Revision: revision}),
			&schemas.Identity{ID: "k", Role: schemas.RoleReader, Tenants: []string{"acme"}})
		for _, send := range []func(context.Context, *bus.Conn, []byte) (bus.Reply, error){
			bus.ResolveSkill.Forward, bus.ResolveAgent.Forward, bus.ResolveContext.Forward, bus.ResolveTools.Forward,
			bus.ResolveToolClass.Forward,
			bus.ResolveTemplate.Forward, bus.ResolveGuardrail.Forward, bus.ListSkills.Forward, bus.ListTools.Forward,
		} {
			reply, err := send(ctx, w.conn, body)
			var rejected *schemas.Error
			if err != nil && (!errors.As(err, &rejected) || rejected.Status >= 500) {
				t.Errorf("%s with %s under %q: %v", body, record, key, err)
			}
			if err == nil && !json.Valid(reply.Body) || strings.Contains(string(reply.Body), "HUSH") {
				t.Errorf("%s with %s under %q: %s", body, record, key, reply.Body)
			}
		}
	})
}

// aKey matches publishable subjects, including invalid keys.
var aKey = regexp.MustCompile(`^[!-)+-\-/-=?-~]+(\.[!-)+-\-/-=?-~]+)*$`)

// raw publishes to the log without the catalog's validation.
func (w *world) raw(t *testing.T, subject string, record []byte) uint64 {
	t.Helper()
	ack, err := w.conn.JetStream().Publish(t.Context(), subject, record)
	if err != nil {
		t.Fatal(err)
	}
	return ack.Sequence
}
