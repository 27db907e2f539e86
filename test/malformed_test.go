package test

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// goName matches names of Go types, functions and system calls, as errors of Go's packages
// contain them.
var goName = regexp.MustCompile(
	`Go value|Go struct|into Go|json: |map\[string\]|interface ?\{|strconv\.|unmarshal|jsonrpc2|\*?(mcp|schemas|jsontext|reflect|time|url)\.[A-Z]|runtime error|lstat`)

// variants returns JSON texts like v in which one value has another type.
func variants(v any) []string {
	list := []string{`5`, `"x"`, `[1]`, `true`, `null`, `{}`, `1e999`, `{"a":[{"b":1}]}`}
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			for _, wrong := range variants(v[name]) {
				copied := maps.Clone(v)
				copied[name] = json.RawMessage(wrong)
				if text, err := json.Marshal(copied); err == nil { // not for 1e999
					list = append(list, string(text))
				}
			}
		}
	case []any:
		if len(v) > 0 {
			for _, wrong := range variants(v[0]) {
				list = append(list, "["+wrong+"]")
			}
		}
	}
	return list
}

// TestMalformedRequestsWithoutGoNames sends every operation of the OpenAPI document requests
// with one wrong value.
func TestMalformedRequestsWithoutGoNames(t *testing.T) {
	t.Parallel()
	own := *usual
	own.name = "malformed" // some of the requests register a guardrail of all skills
	c := newClient(t, open(t, topologies[0], &own)).plain()
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []struct {
				Name, In string
				Ref      string `json:"$ref"`
			}
			RequestBody *struct {
				Content map[string]struct{ Example any }
			}
		}
		Components struct {
			Parameters map[string]struct{ Name string }
		}
	}
	c.do(t, "GET /openapi.json", "").decode(t, &doc)
	refused := 0
	request := func(request, body string, headers ...string) {
		a, err := c.try(t.Context(), request, body, headers...)
		if err != nil {
			t.Errorf("%s %s: %v", request, body, err)
			return
		}
		if a.status == http.StatusBadRequest {
			refused++
		}
		if a.status < 400 && !strings.HasPrefix(request, "POST /mcp") {
			return
		}
		if match := goName.FindString(a.body); match != "" {
			t.Errorf("%s %s %v: %q in %d %s", request, body, headers, match, a.status, truncated(a.body))
		}
	}
	wrong := []string{"x", "-1", "1.5", "99999999999999999999", "%00", "%ff", "%7B%7D", ""}
	for path, operations := range doc.Paths {
		for method, op := range operations {
			method := strings.ToUpper(method)
			if method == http.MethodGet && path == "/watch" || strings.HasPrefix(path, "/register/reindex") {
				continue // a valid request does not end
			}
			if op.RequestBody != nil {
				for _, media := range op.RequestBody.Content {
					for _, body := range append(variants(media.Example), `{`, `{"a":`, ``, `x`, "\xff", `{"a":1,"a":2}`) {
						request(method+" "+strings.NewReplacer("{kind}", "skill", "{id}", "a.b").Replace(path), body)
					}
				}
				continue
			}
			for _, p := range op.Parameters {
				if p.In == "query" {
					request(method+" "+segments.ReplaceAllString(path, "tool")+"?"+p.Name+"=%zz", "")
				}
				for _, value := range wrong {
					switch p.In {
					case "path":
						request(method+" "+segments.ReplaceAllString(strings.Replace(path, "{"+p.Name+"}", cmp.Or(value, "x"), 1),
							"tool"), "")
					case "query":
						request(method+" "+segments.ReplaceAllString(path, "tool")+"?"+p.Name+"="+value, "")
					default:
						name := doc.Components.Parameters[p.Ref[strings.LastIndexByte(p.Ref, '/')+1:]].Name
						request(method+" "+segments.ReplaceAllString(path, "tool"), "", name+": "+value)
					}
				}
			}
		}
	}
	if refused < 500 {
		t.Errorf("%d requests were refused as malformed", refused)
	}
}

var segments = regexp.MustCompile(`\{[a-z_]+\}`)
