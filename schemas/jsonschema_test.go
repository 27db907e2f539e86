package schemas_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/schemas"
)

// validator validates a body with the JSON Schema of T and with T's Validate.
type validator struct {
	byType   func(body string) error
	bySchema func(body string) error
}

func validates[T any](t *testing.T) validator {
	t.Helper()
	d := schemas.NewDefinitions("#/$defs/")
	root, err := d.Of(reflect.TypeFor[T]())
	if err != nil {
		t.Fatal(err)
	}
	root.Defs = d.Schemas
	resolved, err := root.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return validator{
		byType: func(body string) error {
			_, err := schemas.Decode[T]([]byte(body), schemas.ErrMalformed)
			return err
		},
		bySchema: func(body string) error {
			var v any
			if err := json.Unmarshal([]byte(body), &v); err != nil {
				return err
			}
			return resolved.Validate(v)
		},
	}
}

func TestSchemasMatchValidation(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 256)
	list := func(n int, item string) string { return "[" + strings.Repeat(item+",", n-1) + item + "]" }
	object := func(n int, value string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"%d":%s`, i, value)
		}
		return "{" + b.String()[1:] + "}"
	}
	history := func(n int) string { return object(n, `{"r":0,"c":"x"}`) }
	card := func(interfaces, provider string) string {
		if provider != "" {
			provider = `,"provider":{` + provider + `}`
		}
		return `{"agent_data":{"agent_id":"a","agent_card":{"name":"n","description":"d","version":"1","supportedInterfaces":` +
			interfaces + provider + `}}}`
	}
	const analysis = `{"query":"q","context":"{}","target":"H",`
	for name, c := range map[string]struct {
		validator
		good, bad []string
	}{
		"a tag to write": {validates[schemas.TagWrite](t), []string{
			`{"request_id":"r","flow":"f","tags":{"phase":"x","n":1}}`,
			`{"request_id":"` + long + `"}`,
			`{"request_id":" *>./ ","ttl_seconds":1,"more":true}`,
			`{"request_id":"r","ttl_seconds":null}`,
			`{"request_id":"r","tags":` + object(1000, "0") + `}`, `{"request_id":"r","tags":{"` + long + `":1}}`,
		}, []string{
			`{"request_id":"r","tags":` + object(1001, "0") + `}`, `{"request_id":"r","tags":{"` + long + `x":1}}`,
			``, `{`, `[]`, `{}`, `"x"`,
			`{"request_id":""}`, `{"request_id":7}`, `{"request_id":"` + long + `x"}`,
			`{"request_id":"r","flow":"` + long + `x"}`, `{"request_id":"r","flow":1}`,
			`{"request_id":"r","tags":[]}`, `{"request_id":"r","tags":"x"}`,
			`{"request_id":"r","ttl_seconds":0}`, `{"request_id":"r","ttl_seconds":"5"}`, `{"request_id":"r","ttl_seconds":1.5}`,
		}},
		"a skill to register": {validates[schemas.RegisterSkill](t), []string{
			`{"record":{"skill_id":"a.b"}}`,
			`{"record":{"skill_id":"a.b.c","domain":"a","capabilities":["x"],"tenant_id":null,"other":{"deep":[1]}}}`,
			`{"record":{"skill_id":"é.b","tenant_id":"t.1","tool_ids":["p.s.o"],"template_id":"t"}}`,
			`{"record":{"skill_id":"a.b","template_id":""}}`,
			`{"record":{"skill_id":"a.b","tool_ids":` + list(1000, `"t"`) + `,"capabilities":` + list(1000, `"c"`) + `}}`,
		}, []string{
			`{"record":{"skill_id":"a.b","tool_ids":` + list(1001, `"t"`) + `}}`,
			`{"record":{"skill_id":"a.b","capabilities":` + list(1001, `"c"`) + `}}`,
			`{"record":{"skill_id":"a.b","context_descriptions":` + list(1001, `"c"`) + `}}`,
			`{"record":{"skill_id":"a.b","example_queries":` + list(1001, `"q"`) + `}}`,
			`{}`, `{"record":[]}`, `{"record":{}}`, `{"record":{"skill_id":"ab"}}`, `{"record":{"skill_id":"a..b"}}`,
			`{"record":{"skill_id":".a"}}`, `{"record":{"skill_id":"a."}}`, `{"record":{"skill_id":"a.b c"}}`,
			`{"record":{"skill_id":"a.b\n"}}`, `{"record":{"skill_id":"a.\u0000b"}}`, `{"record":{"skill_id":"a.` + long + `"}}`,
			`{"record":{"skill_id":"a.b","tenant_id":"_global"}}`, `{"record":{"skill_id":"a.b","tenant_id":""}}`,
			`{"record":{"skill_id":"a.b","capabilities":"x"}}`, `{"record":{"skill_id":"a.b","capabilities":[1]}}`,
			`{"record":{"skill_id":"a.b","tool_ids":["x..y"]}}`, `{"record":{"skill_id":"a.b","guardrail_ids":[""]}}`,
			`{"record":{"skill_id":"a.b","status":1}}`,
		}},
		"an agent to register": {validates[schemas.RegisterAgent](t), []string{
			`{"agent_data":{"agent_id":"a"},"skill_ids":["a.b"]}`, `{"agent_data":{"agent_id":"a.b"}}`,
		}, []string{`{"agent_data":{"agent_id":"a"},"skill_ids":` + list(1001,
			`"s"`) + `}`, `{"agent_data":{"agent_id":"a","capabilities":` + list(1001, `"s"`) + `}}`,
			`{}`, `{"agent_data":{}}`, `{"agent_data":{"agent_id":"a"},"skill_ids":["a b"]}`,
			`{"agent_data":{"agent_id":"a"},"skill_ids":{}}`}},
		"a tool to register": {validates[schemas.RegisterTool](t),
			[]string{`{"tool_data":{"tool_id":"p.s.o","tool_class":"c"}}`},
			[]string{`{"tool_data":{"tool_id":"p.s.o","example_queries":` + list(1001, `"q"`) + `}}`,
				`{"tool_data":{"tool_id":"p.s"}}`,
				`{"tool_data":{"tool_id":"p.s."}}`, `{"tool_data":null}`}},
		"a context builder to register": {validates[schemas.RegisterContextBuilder](t),
			[]string{`{"cb_data":{"context_builder_id":"c"}}`},
			[]string{`{"cb_data":{"context_builder_id":"c","skill_ids":["."]}}`, `{"cb_data":{}}`}},
		"a guardrail to register": {validates[schemas.RegisterGuardrail](t),
			[]string{`{"guardrail_data":{"guardrail_id":"g"}}`},
			[]string{`{"guardrail_data":{"guardrail_id":""}}`,
				`{"guardrail_data":{"guardrail_id":"g","skill_ids":[` + strings.Repeat(`"x",`,
					1000) + `"x"]}}`}},
		"a template to register": {validates[schemas.RegisterTemplate](t), []string{`{"template_data":{"template_id":"t"}}`},
			[]string{`{"template_data":{"template_id":"t","skill_ids":["a "]}}`}},
		"a record to remove": {validates[schemas.Unregister](t),
			[]string{`{"kind":"agent","id":"a"}`, `{"kind":"tool","id":"a.b.c","tenant_id":"t"}`},
			[]string{`{"kind":"agents","id":"a"}`, `{"kind":"agent"}`, `{"kind":"agent","id":"a b"}`}},
		"a skill to resolve": {validates[schemas.SkillQuery](t), []string{
			`{"skill_id":"a.b"}`, `{"query":"x"}`, `{"query":"x","skill_id":"","top_k":100,"tenant_id":"t","explain":true}`,
			`{"query":"x","top_k":null}`, `{"skill_id":"a.b","query":""}`,
			`{"query":"x","search":"hybrid"}`, `{"query":"x","search":"text"}`, `{"skill_id":"a.b","search":"vector"}`,
		}, []string{
			`{}`, `{"tenant_id":"t"}`, `{"skill_id":"ab"}`, `{"query":"x","top_k":0}`, `{"query":"x","top_k":101}`,
			`{"query":"x","top_k":"5"}`, `{"query":"x","tenant_id":5}`, `{"query":"x","explain":"yes"}`,
			`{"query":"x","search":"words"}`, `{"skill_id":"a.b","search":"both"}`, `{"query":"x","search":["text"]}`,
			`{"query":"` + strings.Repeat("x", 10_001) + `"}`,
			`{"skill_id":"a.b","query":"` + strings.Repeat("x", 10_001) + `"}`,
		}},
		"an agent to resolve": {validates[schemas.AgentQuery](t),
			[]string{`{"query":"x"}`, `{"query":"x","search":"vector"}`},
			[]string{`{}`, `{"query":""}`, `{"query":"x","search":"Text"}`, `{"query":"x","tenant_id":"_global"}`}},
		"the context of a skill": {validates[schemas.ContextQuery](t), []string{`{"skill_id":"a.b","context_types":["x"]}`},
			[]string{`{"skill_id":"a.b","context_types":` + list(1001, `"x"`) + `}`,
				`{"skill_id":"a.b","context_types":["` + long + `x"]}`,
				`{"skill_id":"a"}`, `{"skill_id":"a.b","context_types":"x"}`, `{"context_types":[]}`}},
		"tools by id": {validates[schemas.ToolsQuery](t), []string{`{"tool_ids":["a.b.c","d"]}`},
			[]string{`{}`, `{"tool_ids":[]}`, `{"tool_ids":[""]}`, `{"tool_ids":["a",7]}`, `{"tool_ids":"a"}`}},
		"tools of a class": {validates[schemas.ToolClassQuery](t), []string{`{"tool_class":"c d","provider":"p"}`},
			[]string{`{"tool_class":""}`, `{}`, `{"tool_class":"c","provider":"` + long + `x"}`}},
		"a page of a listing": {validates[schemas.ListQuery](t), []string{`{}`, `{"limit":1000,"cursor":"x"}`},
			[]string{`{"domain":"` + long + `x"}`, `{"provider":"` + long + `x"}`, `{"tool_class":"` + long + `x"}`,
				`{"cursor":"` + strings.Repeat("x", 4097) + `"}`, `{"limit":0}`, `{"limit":1001}`, `{"tenant_id":"a b"}`}},
		"a listing of records": {validates[schemas.RecordQuery](t), []string{
			`{"kind":"tool"}`, `{"kind":"tool","labels":""}`,
			`{"kind":"tool","labels":"team=network,tier="}`, `{"kind":"tool","labels":"a/b.c=x y=z"}`,
		}, []string{
			`{"kind":"tool","labels":"x"}`, `{"kind":"tool","labels":"=x"}`, `{"kind":"tool","labels":"a=1,"}`,
			`{"kind":"tool","labels":"-a=1"}`,
			`{"kind":"tool","labels":"a=\u0000"}`,
		}},
		"an agent card to register": {validates[schemas.RegisterAgent](t), []string{
			card(`[{"url":"https://a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]`, ``),
			card(`[{"url":"a:1","protocolBinding":"GRPC","protocolVersion":"1.0"}]`, ``),
			card(`[{"url":"a:1","protocolBinding":"GRPC","protocolVersion":"1.0"}]`, `"organization":"o","url":""`),
			card(`[{"url":"a:1","protocolBinding":"GRPC","protocolVersion":"1.0"}]`, `"organization":"o","url":"http://o"`),
		}, []string{
			card(`[{"url":"a:1","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]`, ``),
			card(`[{"url":"a:1","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}]`, ``),
			card(`[{"url":"","protocolBinding":"GRPC","protocolVersion":"1.0"}]`, ``),
			card(`[{"url":"`+strings.Repeat("x", 2049)+`","protocolBinding":"GRPC","protocolVersion":"1.0"}]`, ``),
			card(`[{"url":"a:1","protocolBinding":"GRPC","protocolVersion":"1.0"}]`, `"organization":"o","url":"o"`),
		}},
		"a page of servers": {validates[schemas.ServerQuery](t), []string{`{}`, `{"search":"` + long + `"}`},
			[]string{`{"search":"` + long + `x"}`, `{"limit":101}`}},
		"a watch": {validates[schemas.Watch](t), []string{`{}`, `{"kind":""}`, `{"kind":"tool"}`},
			[]string{`{"kind":"tools"}`}},
		"a search for entries": {validates[schemas.ARDSearch](t), []string{
			`{"query":{"text":"` + strings.Repeat("é", 10_000) + `"},"federation":"","pageSize":100,"pageToken":"x"}`,
			`{"query":{"text":"x"},"federation":"referrals","pageSize":null}`,
		}, []string{
			`{"query":{"text":""}}`, `{"query":{"text":"` + strings.Repeat("x", 10_001) + `"}}`,
			`{"query":{"text":"x"},"federation":"all"}`,
			`{"query":{"text":"x"},"pageSize":0}`, `{"query":{"text":"x"},"pageSize":101}`,
			`{"query":{"text":"x"},"pageToken":"` + strings.Repeat("x", 4097) + `"}`,
		}},
		"a listing of entries": {validates[schemas.ARDListQuery](t), []string{`{}`, `{"pageSize":100,"pageToken":"x"}`},
			[]string{`{"pageSize":0}`, `{"pageSize":101}`, `{"pageToken":"` + strings.Repeat("x", 4097) + `"}`}},
		"an analysis": {validates[schemas.Analysis](t), []string{
			`{"query":"q","context":"{}","target":"H"}`,
			`{"query":"","context":"x","target":"br","prompt":{"m":{"0":{"r":0,"c":"q"}},"t":"2026-01-01T00:00:00Z"}}`,
			`{"query":"q","context":"{}","target":"H","mode":"broad","profile":{"a":1},"include":["usage"],"id":"","request_id":""}`,
			analysis + `"id":"` + long + `","request_id":"` + long + `","include":["usage","provenance"]}`,
			analysis + `"prompt":` + list(200, `{"role":"user","content":"a"}`) + `}`,
			analysis + `"prompt":{"m":` + history(200) + `}}`, analysis + `"on_disconnect":"continue"}`,
			analysis + `"on_disconnect":""}`,
			analysis + `"prompt":{"m":{"0":{"r":1,"c":"` + strings.Repeat("x", 256<<10) + `"}}}}`,
			`{"query":"` + strings.Repeat("é", 10_000) + `","context":"{}","target":"H"}`,
		}, []string{
			`{"query":"` + strings.Repeat("é", 10_001) + `","context":"{}","target":"H"}`,
			analysis + `"id":"` + long + `x"}`, analysis + `"request_id":"` + long + `x"}`,
			analysis + `"on_disconnect":"stop"}`, analysis + `"include":` + list(17, `"usage"`) + `}`,
			analysis + `"prompt":{"m":` + history(201) + `}}`,
			analysis + `"prompt":` + list(201, `{"role":"user","content":"a"}`) + `}`,
			analysis + `"prompt":[{"role":"system","content":"a"}]}`, analysis + `"prompt":"a"}`,
			analysis + `"prompt":{"m":{"0":{"r":1,"c":"` + strings.Repeat("x", 256<<10+1) + `"}}}}`,
			analysis + `"prompt":{"m":{},"t":"` + long + `x"}}`,
			`{"query":"q","context":"{}"}`, `{"query":"q","context":"{}","target":"X"}`, `{"query":"q","target":"H"}`,
			`{"query":"q","context":7,"target":"H"}`, `{"query":"q","context":"","target":"H"}`,
			`{"query":"q","context":"{}","target":"H","mode":"wide"}`,
			`{"query":"q","context":"{}","target":"H","include":["x"]}`,
			`{"query":"q","context":"{}","target":"H","prompt":{"m":{"x":{"r":0,"c":""}}}}`,
			`{"query":"q","context":"{}","target":"H","prompt":{"m":{"0":{"r":2,"c":""}}}}`,
			`{"query":"q","context":"{}","target":"H","prompt":{"m":[]}}`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, body := range c.good {
				if err := c.byType(body); err != nil {
					t.Errorf("Validate rejects %s: %v", body, err)
				}
				if err := c.bySchema(body); err != nil {
					t.Errorf("the schema rejects %s: %v", body, err)
				}
			}
			for _, body := range c.bad {
				if c.byType(body) == nil {
					t.Errorf("Validate accepts %s", body)
				}
				if c.bySchema(body) == nil {
					t.Errorf("the schema accepts %s", body)
				}
			}
		})
	}
}

func TestSchemasOfReplies(t *testing.T) {
	t.Parallel()
	d := schemas.NewDefinitions("#/$defs/")
	either, err := d.Of(reflect.TypeFor[schemas.SkillAnswer]())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Of(reflect.TypeFor[schemas.Health]()); err != nil {
		t.Fatal(err)
	}
	if got := len(either.OneOf); got != 2 {
		t.Errorf("SkillAnswer has %d alternatives, want 2", got)
	}
	for name, got := range map[string]*jsonschema.Schema{
		"the health of a service": d.Schemas["Health"].Properties["services"].Items,
		"a hit":                   d.Schemas["SkillHits"].Properties["skills"].Items,
		"a tool":                  d.Schemas["SkillPackage"].Properties["tools"].Items,
	} {
		if got.Ref == "" {
			t.Errorf("%s has no named schema", name)
		}
	}
	if got := d.Schemas["SkillHit"].Required; !slices.Equal(got, []string{"skill_id", "score"}) {
		t.Errorf("required members of a hit: %v", got)
	}
	if got := d.Schemas["SkillPackage"].Properties["explain"].Description; got == "" {
		t.Error("the field of an embedded struct has no description")
	}
}
