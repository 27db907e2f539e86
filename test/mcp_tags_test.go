package test

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestModelContextTagsAndVersions writes, lists, reads and deletes a tag, and reads an earlier revision of a record,
// with the tools of the protocol.
func TestModelContextTagsAndVersions(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		session := c.modelContext(t)
		call := func(tool string, args map[string]any, want string) string {
			t.Helper()
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
			must(t, err)
			text := result.Content[0].(*mcp.TextContent).Text
			if !strings.Contains(text, want) {
				t.Errorf("%s %v: got %s, want %q", tool, args, text, want)
			}
			return text
		}
		id := c.named("$")
		key := map[string]any{"request_id": id}
		call("write_tag", map[string]any{"request_id": id, "flow": "f", "tags": map[string]any{"a": 1}}, id)
		call("write_tag", key, "CE-021")
		call("read_tag", key, `"a":1`)
		call("list_tags", map[string]any{"limit": 1000}, id)
		call("delete_tag", key, "{}")
		call("read_tag", key, "CE-022")

		skill := map[string]any{"kind": "skill", "id": id + ".s"}
		for _, purpose := range []string{"first purpose", "second purpose"} {
			call("register_skill", map[string]any{"record": map[string]any{"skill_id": id + ".s", "purpose": purpose}}, id)
		}
		call("get_record", skill, "second purpose")
		history := call("record_history", skill, `"revisions"`)
		_, last, _ := strings.Cut(history[strings.LastIndex(history, `"revision":"`):], `:"`)
		revision, _, _ := strings.Cut(last, `"`)
		call("get_record", map[string]any{"kind": "skill", "id": id + ".s", "revision": revision}, "first purpose")
		call("search_records", map[string]any{"query": "second purpose", "kinds": []string{"skill"}}, `"hits"`)
		call("register_guardrail", map[string]any{
			"guardrail_data": map[string]any{"guardrail_id": id, "tenant_id": id, "rule": "Shun " + id}}, id)
		call("register_template", map[string]any{
			"template_data": map[string]any{"template_id": id, "tenant_id": id, "body": "Dear " + id}}, id)
		for _, kind := range []string{"guardrail", "template"} {
			call("search_records", map[string]any{"query": id, "tenant_id": id, "kinds": []string{kind}},
				`"`+kind+`_id":"`+id+`"`)
		}
		call("search_records", map[string]any{"query": "x", "kinds": []string{"context_builder"}},
			"kinds[0]: expected one of skill, agent, tool, guardrail, template")
	})
}
