package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReading(t *testing.T) {
	t.Parallel()
	type record struct{ Source, Kind, ID, Wrong, Body string }
	for _, row := range []struct {
		name, file, text, tenant string
		want                     []record
	}{
		{"a record", "a.json", `{"tool_id": "a.b.c"}`, "", []record{{"a.json:1", "tool", "a.b.c", "", `{"tool_data":{"tool_id":"a.b.c"}}`}}},
		{"a list, over lines", "a.json", "[\n{\"agent_id\": \"a\"},\n\n{\"guardrail_id\": \"g\",\n\"skill_ids\": []}]", "", []record{
			{"a.json:2", "agent", "a", "", `{"agent_data":{"agent_id":"a"}}`},
			{"a.json:4", "guardrail", "g", "", `{"guardrail_data":{"guardrail_id":"g","skill_ids":[]}}`}}},
		{"a skill that names its template", "a.json", `{"skill_id": "a.b", "template_id": "t"}`, "", []record{{"a.json:1", "skill", "a.b", "", `{"record":{"skill_id":"a.b","template_id":"t"}}`}}},
		{"a template", "a.json", `{"template_id": "t"}`, "", []record{{"a.json:1", "template", "t", "", `{"template_data":{"template_id":"t"}}`}}},
		{"the body of a registration", "a.json", `{"agent_data": {"agent_id": "a"}, "skill_ids": ["x.y"]}`, "", []record{{"a.json:1", "agent", "a", "", `{"agent_data":{"agent_id":"a"},"skill_ids":["x.y"]}`}}},
		{"two ids", "a.json", `{"agent_id": "a", "tool_id": "a.b.c"}`, "", []record{{"a.json:1", "", "", "ambiguous kind", ""}}},
		{"no id", "a.json", `{"name": "a"}`, "", []record{{"a.json:1", "", "", "unknown kind", ""}}},
		{"no object", "a.json", `[7]`, "", []record{{"a.json:1", "", "", "want a record", ""}}},
		{"a broken file", "a.json", "[{\"agent_id\": \"a\"},\n{]", "", []record{
			{"a.json:1", "agent", "a", "", `{"agent_data":{"agent_id":"a"}}`}, {"a.json:1", "", "", "invalid JSON", ""}}},
		{"lines, one broken", "a.jsonl", "{\"agent_id\": \"a\"}\n\n{\n{\"agent_id\": \"b\"}", "", []record{
			{"a.jsonl:1", "agent", "a", "", `{"agent_data":{"agent_id":"a"}}`},
			{"a.jsonl:3", "", "", "invalid JSON", ""},
			{"a.jsonl:4", "agent", "b", "", `{"agent_data":{"agent_id":"b"}}`}}},
		{"YAML documents and lists", "a.yaml", "---\nagent_id: a\n---\n# nothing\n---\n- context_builder_id: c\n  since: 2026-01-31\n- agent_id: b\n", "", []record{
			{"a.yaml:2", "agent", "a", "", `{"agent_data":{"agent_id":"a"}}`},
			{"a.yaml:6", "context_builder", "c", "", `{"cb_data":{"context_builder_id":"c","since":"2026-01-31"}}`},
			{"a.yaml:8", "agent", "b", "", `{"agent_data":{"agent_id":"b"}}`}}},
		{"broken YAML", "a.yml", "a: [", "", []record{{"a.yml", "", "", "invalid YAML", ""}}},
		{"the tenant of a bare record", "a.json", `{"agent_id": "a"}`, "t", []record{{"a.json:1", "agent", "a", "", `{"agent_data":{"agent_id":"a","tenant_id":"t"}}`}}},
		{"the tenant of a body", "a.json", `{"agent_data": {"agent_id": "a"}}`, "t", []record{{"a.json:1", "agent", "a", "", `{"agent_data":{"agent_id":"a","tenant_id":"t"}}`}}},
		{"a record that names its tenant", "a.json", `[{"agent_id":"a","tenant_id":"own"},{"agent_id":"b","tenant_id":null}]`, "t", []record{
			{"a.json:1", "agent", "a", "", `{"agent_data":{"agent_id":"a","tenant_id":"own"}}`},
			{"a.json:1", "agent", "b", "", `{"agent_data":{"agent_id":"b","tenant_id":null}}`}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var got []record
			for _, f := range formats[filepath.Ext(row.file)](row.file, []byte(row.text)) {
				if f.err != nil {
					got = append(got, record{Source: f.source, Wrong: f.err.Error()})
					continue
				}
				r := newRecord(f.source, f.text, row.tenant)
				g := record{Source: r.Source, Kind: r.Kind, ID: r.ID, Body: string(r.body)}
				if r.wrong != nil {
					g.Wrong = r.wrong.Error()
				}
				got = append(got, g)
			}
			same := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Wrong" },
				cmp.Comparer(func(a, b string) bool { return strings.Contains(a, b) || strings.Contains(b, a) }))
			if diff := cmp.Diff(row.want, got, same); diff != "" || fmt.Sprint(wrongs(row.want)) != fmt.Sprint(wrongs(got)) {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func wrongs[T any](list []T) []bool {
	var is []bool
	for _, r := range list {
		text := fmt.Sprintf("%+v", r)
		is = append(is, strings.Contains(text, "Wrong: "))
	}
	return is
}

func TestRegister(t *testing.T) {
	t.Parallel()
	s := alone(t)
	dir := t.TempDir()
	write(t, dir, "b.jsonl", `{"skill_id": "net.trace", "purpose": "first"}`+"\n"+`{"skill_id": "net.trace", "purpose": "trace routes"}`+"\n"+`{"skill_id": "flat"}`)
	write(t, dir, "sub/c.yaml", "tool_id: a.b.c\n---\n- nothing: here\n")
	write(t, dir, ".hidden/d.json", `{"broken`)
	got := do(t, "", "register", "--url", s.http, "--json", dir)
	var told summary
	if err := json.Unmarshal([]byte(got.out), &told); err != nil || got.code != 1 || got.err != "" {
		t.Fatalf("%v, %+v", err, got)
	}
	want := summary{Accepted: map[string]int{"skill": 2, "tool": 1}, Revision: 3, Refused: []refusal{
		{Source: filepath.Join(dir, "b.jsonl:3"), Kind: "skill", ID: "flat", Code: "CE-061", Message: "invalid registration request", Fields: told.Refused[0].Fields},
		{Source: filepath.Join(dir, "sub/c.yaml:3"), Message: told.Refused[1].Message},
	}}
	told.Seconds = 0
	if diff := cmp.Diff(want, told); diff != "" || len(told.Refused[0].Fields) != 1 {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if found := do(t, "", "resolve", "--url", s.http, "net.trace"); !strings.Contains(found.out, "trace routes") {
		t.Errorf("the later of two did not win: %+v", found)
	}
	people := do(t, `{"skill_id": "flat"}`, "register", "--url", s.http, "-")
	if people.code != 1 || !strings.Contains(people.out, "rejected 1:\n  stdin:1  skill  flat  CE-061  record.skill_id: want at least 2 dot-separated segments") {
		t.Errorf("for people: %+v", people)
	}
	dry := do(t, `[{"skill_id": "flat"}, {"skill_id": "a.b"}]`, "register", "--url", "http://127.0.0.1:1", "--dry-run", "-")
	if dry.code != 1 || !strings.HasPrefix(dry.out, "validated 1 of 2 records") {
		t.Errorf("dry run: %+v", dry)
	}
}

// TestRegisterRetries checks that only retryable errors are retried.
func TestRegisterRetries(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/health" {
			return
		}
		switch asked.Add(1) {
		case 1, 2:
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"code": "CE-011", "status": 503, "title": "dependency unavailable"}`)
		default:
			_, _ = io.WriteString(w, `{"agent_id": "a", "indexed": false}`)
		}
	}))
	t.Cleanup(server.Close)
	got := do(t, `{"agent_id": "a"}`, "register", "--url", server.URL, "-")
	if got.code != 0 || asked.Load() != 3 || !strings.Contains(got.out, "1 are durable but not searchable yet") {
		t.Errorf("asked %d times: %+v", asked.Load(), got)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
