package test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cairn/schemas"
)

// fuzzed requires API keys and uses the offline model.
var fuzzed = &setup{name: "fuzzed", keys: true}

// FuzzHTTP sends arbitrary requests to every route as a tenant's admin: errors are
// client errors, and no answer contains another tenant's data.
func FuzzHTTP(f *testing.F) {
	for _, seed := range [][3]string{
		{"POST /tags/write", `{"request_id":"a/b %","flow":"f","tags":{"\u0000":1e400},"ttl_seconds":1}`,
			"X-Request-Id: \xff"},
		{"GET /tags/a%2Fb%20%25?tenant_id=mine&tenant_id=other", "", "Cairn-Min-Revision: 1"},
		{"DELETE /tags/%zz?%=;", "", "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
		{"POST /register/skill", `{"record":{"skill_id":"net.audit","tenant_id":"mine","tool_ids":["a.b.c","."],"context_builder_ids":null,"x":[[]]}}`, "Content-Type: text/plain"},
		{"POST /register/agent", `{"agent_data":{"agent_id":"a","skill_ids":["net.audit"]}}`, ""},
		{"POST /register/tool", `{"tool_data":{"tool_id":"a.b.c"}}`, ""},
		{"POST /register/context_builder", `{"cb_data":{"context_builder_id":"c","skill_ids":["net.secret"]}}`, ""},
		{"POST /register/guardrail", `{"guardrail_data":{"guardrail_id":"g","domain":"net"}}`, ""},
		{"POST /register/template", `{"template_data":{"template_id":"t"}}`, ""},
		{"DELETE /register/skill/net.audit?tenant_id=_global", "", ""}, {"DELETE /register/a%00/%2e%2e", "", ""},
		{"POST /resolve/skill", `{"query":"which is secret?","top_k":100,"explain":true,"search":"vector"}`,
			"Cairn-Min-Revision: -1"},
		{"POST /resolve/skill", `{"skill_id":"net.secret","tenant_id":"other"}`, "Host: a\x00"},
		{"POST /resolve/agent", `{"query":"\ud83d\ude00 . ! ?"}`, ""},
		{"POST /resolve/context", `{"skill_id":"net.secret","context_types":[""]}`, ""},
		{"POST /resolve/tools", `{"tool_ids":["a.b.c","a.b.secret"]}`, ""},
		{"POST /resolve/tool_class", `{"tool_class":"x","provider":""}`, ""},
		{"POST /resolve/template", `{"skill_id":"net.audit"}`, ""},
		{"POST /resolve/guardrail", `{"skill_id":"net.audit"}`, ""},
		{"GET /skills?limit=1&cursor=dG5ldC5z", "", ""}, {"GET /tools?cursor=Z2EuYg&limit=1000&domain=%ff", "", ""},
		{"GET /skills?limit=1e9", "", ""}, {"GET /skills?a=%22&a=%0d%0a", "", ""},
		{"GET /skills?%ff" + strings.Repeat("&a", 9), "", ""},
		{"POST /api/v1/analyze", `{"query":"how many hosts per site?","target":"H","context":"{\"hosts\":[{\"site\":\"a\"},{\"site\":null}]}","include":["usage","provenance"]}`, "Expect: 100-continue"},
		{"POST /api/v1/analyze", `{"query":"","target":"br","context":"{","prompt":{"m":{"0":{"r":0,"c":"x"}}}}`, ""},
		{"GET /api/v1/analyze/a-0000000000000000", "", "Last-Event-ID: 18446744073709551616"},
		{"DELETE /api/v1/analyze/*", "", ""}, {"PATCH /skills", "", "Origin: null"},
		{"OPTIONS //", "", "Sec-Fetch-Site: cross-site"},
		{"GET /health", "", "Authorization: Bearer x"}, {"GET /openapi.json", "", ""}, {"GET /docs", "", ""},
		{"GET /metrics", "", ""},
		{"POST /search/playbooks", "[", ""},
	} {
		f.Add(seed[0], []byte(seed[1]), seed[2])
	}
	whole := newClient(f, open(f, topologies[0], fuzzed))
	secret, admin := whole.word, whole.plain()
	for _, r := range [][2]string{{"skill", `{"record":{"skill_id":"net.secret","tenant_id":"other","purpose":"of $"}}`},
		{"tool", `{"tool_data":{"tool_id":"a.b.secret","tenant_id":"other","description":"of $"}}`},
		{"guardrail", `{"guardrail_data":{"guardrail_id":"s","tenant_id":"other","text":"of $"}}`}} {
		whole.do(f, "POST /register/"+r[0], r[1])
	}
	c := admin.withRole(f, schemas.RoleAdmin, "mine")
	f.Fuzz(func(t *testing.T, request string, body []byte, header string) {
		method, path, _ := strings.Cut(request, " ")
		if _, err := http.NewRequest(method, c.base+path, nil); err != nil || !strings.HasPrefix(path, "/") ||
			strings.Contains(path, " ") ||
			!possible(header) || method == http.MethodConnect {
			return // not a valid HTTP request
		}
		var headers []string
		if header != "" {
			headers = []string{header}
		}
		a, err := c.try(t.Context(), request, string(body), headers...)
		if err != nil {
			t.Fatalf("%q %q %q: %v", request, header, body, err)
		}
		a.proper(t, fmt.Sprintf("%q %q %q", request, header, body), secret)
	})
}

var aHeader = regexp.MustCompile("^[A-Za-z-]+: [^\x00-\x1f\x7f]*$")

// possible reports whether net/http sends the header without reframing the body.
func possible(header string) bool {
	name, value, _ := strings.Cut(header, ": ")
	framing := []string{"Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Te", "Trailer", "Host"}
	name = http.CanonicalHeaderKey(name)
	if name == "Expect" && value != "100-continue" {
		return false // refused by net/http
	}
	return header == "" || aHeader.MatchString(header) && !slices.Contains(framing, name)
}

// proper checks the invariants of every answer, such as that it does not contain the secret.
func (a answer) proper(t *testing.T, received, secret string) {
	t.Helper()
	analysis := strings.HasPrefix(a.path, "/api/v1/analyze")
	if a.status >= 500 && a.status != http.StatusNotImplemented && (!analysis || !strings.Contains(a.body, "AN-500")) {
		t.Errorf("%s: %d %s", received, a.status, truncated(a.body))
	}
	isJSON := a.header.Get("Content-Type") == "application/json"
	if isJSON && !json.Valid([]byte(a.body)) && len(a.body) > 0 || a.status >= 400 && !isJSON ||
		a.status >= 400 && len(a.body) > len(a.path)+16<<10 {
		t.Errorf("%s: %d with %d bytes, %v: %s", received, a.status, len(a.body), a.header, truncated(a.body))
	}
	if strings.Contains(a.body, secret) {
		t.Errorf("%s: shows the secret: %s", received, truncated(a.body))
	}
}
