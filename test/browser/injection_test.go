package browser

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// hostileID is an id of every kind, whose segments are markup.
const hostileID = `"><svg/onload=window.injected=1>.x`

// hostileTenant is the tenant of the records.
const hostileTenant = `"><svg/onload=window.injected=1>`

// hostileText is markup for fields whose length is limited.
const hostileText = `<img src=x onerror=window.injected=1>`

// hostile are values for a field. The test uses the first one that the server accepts.
var hostile = []any{
	markup, []any{markup}, `<img src=x onerror=window.injected=1>`, []any{`<img src=x onerror=window.injected=1>`},
	hostileID + ".next", []any{hostileID}, `"><b>`, map[string]any{`"><b>`: `<img src=x onerror="window.injected=1">`},
	[]any{map[string]any{"name": "a", "description": hostileText, "default": hostileText}},
	[]any{map[string]any{"path": `a/<img src=x>.html`, "media_type": "text/html", "text": markup}},
	map[string]any{"name": hostileText, "description": hostileText, "version": "<b>", "url": "https://example.com/",
		"skills": []any{
			// an agent card
			map[string]any{"id": "<b>", "name": hostileText, "description": hostileText, "tags": []any{hostileText}}}},
	`javascript:window.injected=1`, hostileID[:strings.Index(hostileID, ".")], map[string]any{"<b>a</b>": "<b>b</b>"},
	map[string]any{"a": "<b>b</b>"},
}

// unhostile are the fields whose rules permit no markup.
var unhostile = []string{"public", "version"}

// fieldsOf returns the fields of a kind that Cairn interprets, from the OpenAPI document.
func fieldsOf(t *testing.T, base, schema string) (names []string) {
	t.Helper()
	res, err := http.Get(base + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	if err := json.NewDecoder(res.Body).Decode(&document); err != nil {
		t.Fatal(err)
	}
	for name := range document.Components.Schemas[schema].Properties {
		names = append(names, name)
	}
	if len(names) < 5 {
		t.Fatalf("%s has the fields %q, want more", schema, names)
	}
	slices.Sort(names)
	return names
}

// testInjectionOfFields stores markup in every field of every kind, and opens the views of
// the records.
func testInjectionOfFields(t *testing.T, s *suite) {
	p := openPage(t, s, s.open.URL(), "")
	p.wait("document.querySelector('form.search')")
	for kind, schema := range map[string]string{
		"skill": "Skill", "agent": "Agent", "tool": "Tool", "context_builder": "ContextBuilder", "guardrail": "Guardrail",
		"template": "Template",
	} {
		record := map[string]any{}
		for _, name := range fieldsOf(t, s.open.URL(), schema) {
			if name == kind+"_id" || name == "tenant_id" || slices.Contains(unhostile, name) {
				continue
			}
			accepted := slices.IndexFunc(hostile, func(value any) bool {
				tried := map[string]any{"status": "deprecated"} // which replaced_by requires
				tried[name] = value
				return p.tryPut(kind, hostileID, tried) == ""
			})
			if accepted < 0 {
				t.Errorf("no hostile value of the field %s of a %s is accepted: add one", name, kind)
				continue
			}
			record[name] = hostile[accepted]
		}
		next := record["replaced_by"]
		delete(record, "replaced_by")
		// with a status that hides it from searches
		if refused := p.tryPut(kind, hostileID+".status", record); refused != "" {
			t.Fatalf("store the %s: %s", kind, refused)
		}
		record["status"], record["replaced_by"] = "deprecated", next
		record["unknown"+markup] = map[string]any{markup: markup}
		if refused := p.tryPut(kind, hostileID, record); refused != "" {
			t.Fatalf("store the %s: %s", kind, refused)
		}
		id := url.PathEscape(hostileID)
		for _, view := range []string{
			"#/catalog/" + kind, "#/catalog/" + kind + "/" + id + ".status", "#/catalog/" + kind + "/" + id,
			"#/catalog/" + kind + "/" + id + "?tab=json",
			"#/catalog/" + kind + "/" + id + "?tab=history", "#/catalog/" + kind + "/" + id + "/edit",
			"#/register/" + kind + "?copy=" + id,
		} {
			separator := "?"
			if strings.Contains(view, "?") {
				separator = "&"
			}
			p.open(view + separator + "tenant=" + url.QueryEscape(hostileTenant))
			p.wait("document.querySelector('.fields, .json, form.record, tbody, .diff') && !document.querySelector('.loading, [role=alert]')")
			p.harmless(view)
		}
	}
	for _, view := range []string{
		"#/package?", "#/package/" + url.PathEscape(hostileID) + "?", "#/search?q=img+onerror+window+injected&",
		"#/search?kind=agent&q=img+onerror+window+injected&", "#/usage?",
	} {
		p.open(view + "tenant=" + url.QueryEscape(hostileTenant))
		p.wait("document.querySelector('tbody, .cards, .parts, .hit, .empty, [role=alert]') && !document.querySelector('.loading')")
		p.harmless(view)
	}
	p.expect(400)
	p.expect(404)
}

// tryPut stores a record of the hostile tenant, and returns the response of a refusal.
func (p *page) tryPut(kind, id string, record map[string]any) (refused string) {
	p.t.Helper()
	return p.tryPutOf(hostileTenant, kind, id, record)
}

func (p *page) tryPutOf(tenant, kind, id string, record map[string]any) (refused string) {
	p.t.Helper()
	body, err := json.Marshal(record)
	if err != nil {
		p.t.Fatal(err)
	}
	path := p.base + "/records/" + kind + "/" + url.PathEscape(id) + "?tenant_id=" + url.QueryEscape(tenant)
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPut, path, bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	if res.StatusCode == http.StatusOK {
		return ""
	}
	return string(text)
}
