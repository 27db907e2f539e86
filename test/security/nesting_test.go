package security

import (
	"fmt"
	"strings"
	"testing"

	"cairn/test/cairntest"
)

// TestDeepRequests checks that a record or tag nested too deeply for a response is rejected, and that
// every route reads the deepest accepted one.
func TestDeepRequests(t *testing.T) {
	t.Parallel()
	up := cairntest.Up(t)
	c := client(t, "127.0.0.1")
	arrays := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	bodies := []struct{ path, body, field string }{
		{"/register/tool", `{"tool_data":{"tool_id":"a.b.c","tool_class":"c","x":%s}}`, "tool_data.x"},
		{"/register/skill", `{"record":{"skill_id":"a.b","purpose":"audit","tool_ids":["a.b.c"],"x":%s}}`, "record.x"},
		{"/register/agent", `{"agent_data":{"agent_id":"a","capabilities":["audit"],"x":%s}}`, "agent_data.x"},
		{"/register/context_builder", `{"cb_data":{"context_builder_id":"a","skill_ids":["a.b"],"x":%s}}`, "cb_data.x"},
		{"/register/guardrail", `{"guardrail_data":{"guardrail_id":"a","x":%s}}`, "guardrail_data.x"},
		{"/register/template", `{"template_data":{"template_id":"a","skill_ids":["a.b"],"x":%s}}`, "template_data.x"},
		{"/tags/write", `{"request_id":"a","flow":"f","tags":{"x":%s}}`, "tags.x"},
		{"/api/v1/analyze", `{"query":"q","target":"H","context":"{\"hosts\":[]}","profile":{"x":%s}}`, "profile.x"},
	}
	for _, row := range bodies {
		for _, n := range []int{999, 5000, 9997, 9998, 9999, 30_000} { // below two levels
			status, answer, err := send(c, "POST", up.URL()+row.path, fmt.Sprintf(row.body, arrays(n)))
			located := strings.Contains(answer, row.field+"[0]") || strings.Contains(answer, "nested too deep")
			if err != nil || status != 400 || !located {
				t.Errorf("%s with %d levels: %d %.300s %v, want 400 that names %s or the position", row.path, n, status, answer,
					err, row.field)
			}
		}
		if status, answer, err := send(c, "POST", up.URL()+row.path, fmt.Sprintf(row.body, arrays(998))); err != nil ||
			status >= 300 {
			t.Errorf("%s with 1000 levels: %d %.300s %v", row.path, status, answer, err)
		}
	}
	for _, row := range [][3]string{
		{"GET", "/tools", ""}, {"GET", "/skills", ""}, {"GET", "/tags/a", ""},
		{"POST", "/resolve/tools", `{"tool_ids":["a.b.c"],"explain":true}`},
		{"POST", "/resolve/tool_class", `{"tool_class":"c"}`},
		{"POST", "/resolve/skill", `{"skill_id":"a.b"}`}, {"POST", "/resolve/skill", `{"query":"audit"}`},
		{"POST", "/resolve/agent", `{"query":"audit"}`}, {"POST", "/resolve/context", `{"skill_id":"a.b"}`},
		{"POST", "/resolve/guardrail", `{"skill_id":"a.b"}`}, {"POST", "/resolve/template", `{"skill_id":"a.b"}`},
	} {
		status, answer, err := send(c, row[0], up.URL()+row[1], row[2])
		if err != nil || status != 200 || !strings.Contains(answer, arrays(998)) {
			t.Errorf("%s %s %s: %d %.300s %v, want the record", row[0], row[1], row[2], status, answer, err)
		}
	}
}
