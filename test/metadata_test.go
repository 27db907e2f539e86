package test

import (
	"strings"
	"testing"
)

func TestLifecycle(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		c.put(t, [][2]string{
			{"skill", `{"skill_id":"$.now","tenant_id":"$","purpose":"Polish the brass telescope","version":"1.4.0-rc.1+b7","labels":{"team.io/tier":"gold","a":""},"tool_ids":["$.s.draft","$.s.old","$.s.gone","$.s.odd"],"guardrail_ids":["$.draft","$.old"]}`},
			{"skill", `{"skill_id":"$.old","tenant_id":"$","purpose":"Polish the brass telescope","status":"deprecated","replaced_by":"$.now"}`},
			{"skill", `{"skill_id":"$.draft","tenant_id":"$","purpose":"Polish the brass telescope","status":"draft","tool_ids":["$.s.old"]}`},
			{"skill", `{"skill_id":"$.gone","tenant_id":"$","purpose":"Polish the brass telescope","status":"retired","replaced_by":"$.now"}`},
			{"tool", `{"tool_id":"$.s.draft","tenant_id":"$","tool_class":"$","status":"draft"}`},
			{"tool", `{"tool_id":"$.s.old","tenant_id":"$","tool_class":"$","status":"deprecated","replaced_by":"$.s.new"}`},
			{"tool", `{"tool_id":"$.s.gone","tenant_id":"$","tool_class":"$","status":"retired"}`},
			{"tool", `{"tool_id":"$.s.odd","tenant_id":"$","tool_class":"$","status":"inactive"}`},
			{"guardrail", `{"guardrail_id":"$.draft","tenant_id":"$","skill_ids":["$.now"],"status":"draft"}`},
			{"guardrail", `{"guardrail_id":"$.old","tenant_id":"$","skill_ids":["$.now"],"status":"deprecated"}`},
			{"context_builder", `{"context_builder_id":"$.draft","tenant_id":"$","skill_ids":["$.now"],"status":"draft"}`},
			{"template", `{"template_id":"$.gone","tenant_id":"$","skill_ids":["$.now"],"status":"retired"}`},
			{"tool", `{"tool_id":"$.t.both","of":"global"}`},
			{"tool", `{"tool_id":"$.t.both","tenant_id":"$","of":"tenant","status":"draft"}`},
		}...)
		c.rows(t, []row{
			{"a package has active and deprecated parts only, but parts of other statuses", "POST /resolve/skill",
				`{"skill_id":"$.now","tenant_id":"$"}`, 200, "",
				`{"manifest":{"version":"1.4.0-rc.1+b7","labels":{"team.io/tier":"gold","a":""}},"context_builders":[],"template":{},
				"tools":[{"tool_id":"$.s.old","status":"deprecated","replaced_by":"$.s.new"},{"tool_id":"$.s.odd"}],
				"guardrails":[{"guardrail_id":"$.old"}]}`},
			{"a draft by id", "POST /resolve/skill", `{"skill_id":"$.draft","tenant_id":"$"}`, 200, "",
				`{"manifest":{"status":"draft"},"tools":[{"tool_id":"$.s.old"}]}`},
			{"a retired skill by id", "POST /resolve/skill", `{"skill_id":"$.gone","tenant_id":"$"}`, 200, "",
				`{"manifest":{"replaced_by":"$.now"}}`},
			{"a draft tool by id", "POST /resolve/tools", `{"tool_ids":["$.s.draft"],"tenant_id":"$"}`, 200, "",
				`{"tools":[{"tool_id":"$.s.draft"}],"missing":[]}`},
			{"a draft of the tenant does not hide the global record", "POST /resolve/tools",
				`{"tool_ids":["$.t.both"],"tenant_id":"$"}`, 200, "",
				`{"tools":[{"of":"global"}]}`},
			{"a class", "POST /resolve/tool_class", `{"tool_class":"$","tenant_id":"$"}`, 200, "",
				`{"tools":[{"tool_id":"$.s.old"}]}`},
			{"a listing", "GET /skills?domain=$&tenant_id=$", "", 200, "",
				`{"skills":[{"skill_id":"$.now"},{"skill_id":"$.old","status":"deprecated","replaced_by":"$.now"}],"next_cursor":null}`},
		})
		var ids []string
		for _, h := range c.search(t, `{"query":"polish the brass telescope","tenant_id":"$"}`) {
			ids = append(ids, h.ID)
		}
		if got, want := strings.Join(ids, " "), c.named("$.now $.old"); got != want {
			t.Errorf("found %s, want %s", got, want)
		}
	})
}

func TestSkillFields(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		c.put(t, [][2]string{
			{"skill", `{"skill_id":"$.a","purpose":"Serve $","instructions":"# How\n\nTurn the $knob clockwise.","license":"Apache-2.0",
				"resources":[{"path":"scripts/run.sh","text":"hi\n","mode":"0755"},{"path":"logo.png","media_type":"image/png","data":"AAE="}]}`},
		}...)
		const resources = `"resources":[{"path":"scripts/run.sh","mode":"0755","sha256":"98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4","size":3},
			{"path":"logo.png","media_type":"image/png","sha256":"b413f47d13ee2fe6c845b2ee141af81de858df4ec549a58b7970bb96645bc8d2","size":2}]`
		c.rows(t, []row{
			{"a package has the instructions, and the digests of the resources", "POST /resolve/skill", `{"skill_id":"$.a"}`,
				200,
				`{"skill_id":"$.a","manifest":{"skill_id":"$.a","purpose":"Serve $","domain":"$","instructions":"# How\n\nTurn the $knob clockwise.","license":"Apache-2.0",` +
					resources + `},"context_builders":[],"guardrails":[],"template":{},"tools":[]}`, ""},
			{"a listing has no instructions", "GET /skills?domain=$", "", 200,
				`{"skills":[{"skill_id":"$.a","purpose":"Serve $","domain":"$","license":"Apache-2.0",` + resources +
					`}],"next_cursor":null}`, ""},
			{"words of the instructions find the skill", "POST /resolve/skill", `{"query":"turn the $knob clockwise","top_k":1}`,
				200, "",
				`{"skills":[{"skill_id":"$.a"}]}`},
		})
		if hit := c.do(t, "POST /resolve/skill", `{"query":"turn the $knob clockwise","top_k":1}`); strings.Contains(hit.body,
			"instructions") {
			t.Errorf("a hit has instructions: %s", truncated(hit.body))
		}
	})
}

func TestInvalidMetadata(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		var rows []row
		for _, r := range []struct{ name, field, member string }{
			{"a version is a semantic version", "version", `"version":"1.2"`},
			{"without a prefix", "version", `"version":"v1.2.3"`},
			{"and a string", "version", `"version":3`},
			{"labels are an object", "labels", `"labels":["a"]`},
			{"of strings", "labels.a", `"labels":{"a":1}`},
			{"a label has a name", "labels.", `"labels":{"":"x"}`},
			{"without commas", "labels.a,b", `"labels":{"a,b":"x"}`},
			{"and a value without commas", "labels.a", `"labels":{"a":"x,y"}`},
			{"of at most 256 characters", "labels.a", `"labels":{"a":"` + strings.Repeat("x", 257) + `"}`},
			{"a status is a string", "status", `"status":7`},
			{"an active record is not replaced", "replaced_by", `"replaced_by":"$.b"`},
			{"nor by itself", "replaced_by", `"status":"retired","replaced_by":"$.a"`},
			{"but by a skill", "replaced_by", `"status":"retired","replaced_by":"$"`},
			{"instructions are bounded", "instructions", `"instructions":"` + strings.Repeat("x", 100_001) + `"`},
			{"a license is bounded", "license", `"license":"` + strings.Repeat("x", 257) + `"`},
			{"resources are an array", "resources", `"resources":{}`},
			{"a resource has a path", "resources[0].path", `"resources":[{"text":""}]`},
			{"that is relative", "resources[0].path", `"resources":[{"path":"/etc/passwd","text":""}]`},
			{"inside the skill", "resources[0].path", `"resources":[{"path":"../x","text":""}]`},
			{"clean", "resources[0].path", `"resources":[{"path":"a//b","text":""}]`},
			{"with slashes", "resources[0].path", `"resources":[{"path":"a\\b","text":""}]`},
			{"and unique", "resources[1].path", `"resources":[{"path":"a","text":""},{"path":"a","text":""}]`},
			{"and no directory of another", "resources[1].path",
				`"resources":[{"path":"a/b","text":""},{"path":"a","text":""}]`},
			{"a resource has content", "resources[0]", `"resources":[{"path":"a"}]`},
			{"of one form", "resources[0]", `"resources":[{"path":"a","text":"","data":""}]`},
			{"in base64", "resources[0]", `"resources":[{"path":"a","data":"!"}]`},
			{"of the digest", "resources[0].sha256", `"resources":[{"path":"a","text":"x","sha256":"00"}]`},
			{"and the size", "resources[0].size", `"resources":[{"path":"a","text":"x","size":2}]`},
		} {
			rows = append(rows, row{r.name, "POST /register/skill", `{"record":{"skill_id":"$.a",` + r.member + `}}`,
				400, "CE-061 record." + r.field, ""})
		}
		for _, k := range kinds[1:] {
			rows = append(rows, row{"a " + k.kind + " has a valid version", "POST /register/" + k.kind,
				`{"` + k.wrapper + `":{"` + k.kind + `_id":` + idOf(k.record) + `,"version":"one"}}`, 400,
				"CE-061 " + k.wrapper + ".version", ""})
		}
		c.rows(t, rows)
	})
}
