package register_test

import (
	"context"
	"errors"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/bus"
	"cairn/schemas"
	"cairn/services/internal/catalog"
)

// FuzzRegister registers arbitrary text as a record of each kind: it is rejected
// as invalid, or stored with all its members.
func FuzzRegister(f *testing.F) {
	for _, seed := range []string{
		`{"skill_id":"net.audit","domain":"net","capabilities":["a"],"more":{"x":[1e400,"\u0000"]}}`,
		`{"skill_id":"net.a","agent_id":"a","tool_id":"a.b.c","context_builder_id":"c","guardrail_id":"g","template_id":"t"}`,
		`{"skill_id":"net.\u00e9 x"}`, `{"tool_id":"a..c"}`, `{"agent_id":"a","agent_id":"b"}`, `{"tenant_id":"_global"}`,
		`null`, `[]`,
		`{`, "\xff", ``,
	} {
		f.Add([]byte(seed))
	}
	_, conn, c := serve(f)
	kinds := []struct {
		kind, wrapper string
		post          post
	}{
		{schemas.KindSkill, "record", bus.RegisterSkill.Forward},
		{schemas.KindAgent, "agent_data", bus.RegisterAgent.Forward},
		{schemas.KindTool, "tool_data", bus.RegisterTool.Forward},
		{schemas.KindContextBuilder, "cb_data", bus.RegisterContextBuilder.Forward},
		{schemas.KindGuardrail, "guardrail_data", bus.RegisterGuardrail.Forward},
		{schemas.KindTemplate, "template_data", bus.RegisterTemplate.Forward},
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		for _, k := range kinds {
			body := append(append([]byte(`{"`+k.wrapper+`":`), record...), '}')
			reply, err := k.post(context.Background(), conn, body)
			if errors.Is(err, schemas.ErrInvalidRegistration) {
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", k.kind, err)
			}
			stored := get(t, c, k.kind, body, reply)
			compare(t, k.kind, member(t, body, k.wrapper), stored)
		}
	})
}

// get returns the record that the reply names.
func get(t *testing.T, c *catalog.Catalog, kind string, body []byte, reply bus.Reply) []byte {
	t.Helper()
	var id string
	if err := json.Unmarshal(member(t, reply.Body, kind+"_id"), &id); err != nil {
		t.Fatal(err)
	}
	var registration map[string]struct {
		Tenant string `json:"tenant_id"`
	}
	if err := json.Unmarshal(body, &registration); err != nil {
		t.Fatal(err)
	}
	key := catalog.Key{Kind: kind, ID: id}
	for _, record := range registration {
		key.Tenant = record.Tenant
	}
	e, err := c.Get(context.Background(), key)
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	return e.Record
}

func member(t *testing.T, object []byte, name string) jsontext.Value {
	t.Helper()
	var members map[string]jsontext.Value
	if err := json.Unmarshal(object, &members); err != nil {
		t.Fatal(err)
	}
	return members[name]
}

// compare fails unless stored equals sent, apart from the added domain of a skill.
func compare(t *testing.T, kind string, sent, stored []byte) {
	t.Helper()
	var a, b map[string]jsontext.Value
	if err := errors.Join(json.Unmarshal(sent, &a), json.Unmarshal(stored, &b)); err != nil {
		t.Fatal(err)
	}
	if kind == schemas.KindSkill {
		delete(a, "domain")
		delete(b, "domain")
	}
	if len(a) != len(b) {
		t.Errorf("%s: sent %s, stored %s", kind, sent, stored)
	}
	for name, value := range a {
		if string(value) != string(b[name]) {
			t.Errorf("%s: member %q: sent %s, stored %s", kind, name, value, b[name])
		}
	}
}
