package test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// routes are the contracts' and those that fill their gaps.
var routes = []string{
	"GET /health", "POST /tags/write", "GET /tags/{request_id}", "DELETE /tags/{request_id}",
	"POST /register/skill", "POST /register/agent", "POST /register/tool", "POST /register/context_builder",
	"POST /register/guardrail", "POST /register/template", "DELETE /register/{kind}/{id}",
	"POST /resolve/skill", "POST /resolve/agent", "POST /resolve/context", "POST /resolve/context_builders",
	"POST /resolve/tools", "POST /resolve/tool_class", "POST /resolve/template", "POST /resolve/guardrail",
	"GET /skills", "GET /tools", "POST /search/playbooks", "POST /answer/knowledge", "POST /resolve/domain_knowledge",
	"POST /api/v1/analyze",
}

func TestInterfaceDescribesItself(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		var doc struct {
			OpenAPI string `json:"openapi"`
			Paths   map[string]map[string]json.RawMessage
		}
		a := c.do(t, "GET /openapi.json", "")
		if err := json.Unmarshal([]byte(a.body), &doc); err != nil || !strings.HasPrefix(doc.OpenAPI, "3.1") {
			t.Fatalf("version %q, want 3.1: %v", doc.OpenAPI, err)
		}
		var listed []string
		for path, methods := range doc.Paths {
			for method := range methods {
				listed = append(listed, strings.ToUpper(method)+" "+path)
			}
		}
		for _, route := range routes {
			if !slices.Contains(listed, route) {
				t.Errorf("%s is not in the document, which lists %q", route, listed)
			}
		}
		for path, text := range map[string]string{
			"/docs": "CE-021", "/docs/reference": "/api/v1/analyze", "/docs/concepts": "watermark", "/docs/search?q=watermark": "/docs/concepts#",
		} {
			page := c.do(t, "GET "+path, "")
			if !strings.HasPrefix(page.header.Get("Content-Type"), "text/html") || !strings.Contains(page.body, text) || !strings.Contains(page.body, "</html>") {
				t.Errorf("%s is %s: %s", path, page.header.Get("Content-Type"), brief(page.body))
			}
		}
		c.ask(t, "GET /docs/absent", "").expect(t, 404, "CE-004", "")
	})
}
