package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/deploy/internal/records"
)

func TestApply(t *testing.T) {
	t.Parallel()
	url := shared(t)
	dir := t.TempDir()
	write(t, dir, "b.jsonl", `{"skill_id": "net.trace", "purpose": "first"}`+"\n"+
		`{"skill_id": "net.trace", "purpose": "trace routes"}`+"\n"+`{"skill_id": "flat"}`)
	write(t, dir, "sub/c.yaml", "tool_id: a.b.c\n---\n- nothing: here\n")
	write(t, dir, ".hidden/d.json", `{"broken`)
	got := do(t, "", "apply", "--url", url, "--tenant", "apply", "-ojson", dir)
	type summary struct {
		Accepted, Actions map[string]int
		Refused           []records.Rejection
	}
	var result summary
	if err := json.Unmarshal([]byte(got.out), &result); err != nil || got.code != exitUsage || got.err != "" {
		t.Fatalf("%v, %+v", err, got)
	}
	want := summary{Accepted: map[string]int{"skill": 2, "tool": 1},
		Actions: map[string]int{"created": 2, "configured": 1},
		Refused: []records.Rejection{
			{Source: filepath.Join(dir, "b.jsonl:3"), Kind: "skill", ID: "flat", Code: "CE-061",
				Message: "invalid registration request",
				Fields:  result.Refused[0].Fields},
			{Source: filepath.Join(dir, "sub/c.yaml:3"), Message: result.Refused[1].Message},
		}}
	if diff := cmp.Diff(want, result); diff != "" || len(result.Refused[0].Fields) != 1 {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if resolved := do(t, "", "resolve", "--url", url, "--tenant", "apply", "net.trace"); !strings.Contains(resolved.out,
		"trace routes") {
		t.Errorf("the last duplicate did not take precedence: %+v", resolved)
	}
	people := do(t, `{"skill_id": "flat"}`, "apply", "--url", url, "-")
	if people.code != exitUsage || !strings.Contains(people.out,
		"rejected 1:\n  stdin:1  skill  flat  CE-061  id: expected at least 2 dot-separated segments") {
		t.Errorf("for people: %+v", people)
	}
	dry := do(t, `[{"skill_id": "flat"}, {"skill_id": "a.b"}]`, "apply", "--url", "http://127.0.0.1:1", "--dry-run=client",
		"-")
	if dry.code != exitUsage || !strings.HasPrefix(dry.out, "validated 1 of 2 records") {
		t.Errorf("dry run: %+v", dry)
	}
	for _, text := range []string{`{"foo": 1}`, `a: [`, `{"tool_id"`} {
		if got := do(t, text, "apply", "--url", url, "-"); got.code != exitUsage {
			t.Errorf("%s: %+v, want exit code %d", text, got, exitUsage)
		}
	}
}

// TestApplyIsIdempotent checks that records that are registered already are not written.
func TestApplyIsIdempotent(t *testing.T) {
	t.Parallel()
	target := []string{"--url", shared(t), "--tenant", "again"}
	const text = `{"agent_data": {"agent_id": "a"}, "skill_ids": ["x.y"]}
{"skill_id": "x.y", "purpose": "p", "labels": null, "resources": [{"path": "a", "text": "\u0001é\n"}],
 "big": 12345678901234567890123, "f": 1e400}
{"template_id": "t", "text": "a: b # c\n  d", "on": "yes", "empty": [], "none": {}}`
	apply := func(text, want string, args ...string) {
		t.Helper()
		got := do(t, text, slices.Concat([]string{"apply", "-"}, target, args)...)
		if got.code != 0 || !strings.Contains(got.out, ": "+want+"\n") {
			t.Errorf("%+v, want %s", got, want)
		}
	}
	apply(text, "3 created", "--dry-run")
	apply(text, "3 created")
	apply(text, "3 unchanged")
	apply(strings.Replace(text, `"p"`, `"q"`, 1), "1 configured, 2 unchanged")
	for _, format := range []string{"yaml", "json"} {
		out := do(t, "", slices.Concat([]string{"export", "-o", format}, target)...)
		if format == "json" {
			apply(out.out, "3 unchanged")
			continue
		}
		// YAML has no integers beyond 64 bits: they become floats.
		apply(strings.ReplaceAll(strings.ReplaceAll(out.out, "12345678901234567890123", "1"), "1e400", "1"),
			"1 configured, 2 unchanged")
	}
}

func TestApplyPrunes(t *testing.T) {
	t.Parallel()
	target := []string{"--url", shared(t), "--tenant", "prune"}
	run := func(stdin string, args ...string) result { return do(t, stdin, append(args, target...)...) }
	const keep = `{"tool_id": "a.b.keep", "labels": {"owner": "ci"}}`
	run(keep+`{"tool_id": "a.b.mine"} {"tool_id": "a.b.old", "labels": {"owner": "ci"}} {"agent_id": "other"}`,
		"apply", "-").must(t)
	for _, row := range []struct {
		name  string
		stdin string
		args  []string
		left  string
	}{
		{"a rejected record", keep + `{"tool_id": "flat"}`, []string{"--prune"},
			"agent/other tool/a.b.keep tool/a.b.mine tool/a.b.old"},
		{"a dry run", keep, []string{"--prune", "--dry-run"}, "agent/other tool/a.b.keep tool/a.b.mine tool/a.b.old"},
		{"only records with the labels", keep, []string{"--prune", "--labels", "owner=ci"},
			"agent/other tool/a.b.keep tool/a.b.mine"},
		{"all records of the kinds in the files", keep, []string{"--prune"}, "agent/other tool/a.b.keep"},
	} {
		got := run(row.stdin, append([]string{"apply", "-"}, row.args...)...)
		left := strings.Fields(run("", "get", "all", "--scope", "tenant", "-o", "name").out)
		slices.Sort(left)
		if strings.Join(left, " ") != row.left {
			t.Errorf("%s: left %v, want %s: %+v", row.name, left, row.left, got)
		}
	}
}

// TestApplyStrict checks that records may reference records later in the files, that any other warning rejects a
// record, and that a misspelt field also rejects the records that reference it.
func TestApplyStrict(t *testing.T) {
	t.Parallel()
	target := []string{"--url", shared(t), "--tenant", "strict", "--strict"}
	for _, row := range []struct{ name, text, left, rejected string }{
		{"a later record", `{"skill_id": "a.b", "tool_ids": ["p.s.o"]} {"tool_id": "p.s.o"}`, "skill/a.b tool/p.s.o", ""},
		{"records that reference each other",
			`{"skill_id": "a.c", "context_builder_ids": ["c"]} {"context_builder_id": "c", "instructions": "x", ` +
				`"skill_ids": ["a.c"]}`,
			"context_builder/c skill/a.b skill/a.c tool/p.s.o", ""},
		{"a record that does not exist", `{"skill_id": "a.d", "tool_ids": ["p.s.ooo"]}`,
			"context_builder/c skill/a.b skill/a.c tool/p.s.o", "ooo"},
		{"a misspelt field, and a reference to its record",
			`{"skill_id": "a.d", "purpos": "p"} {"agent_id": "x", "skill_ids": ["a.d"]}`,
			"context_builder/c skill/a.b skill/a.c tool/p.s.o", "did you mean purpose?"},
	} {
		got := do(t, row.text, slices.Concat([]string{"apply", "-"}, target)...)
		left := strings.Fields(do(t, "",
			slices.Concat([]string{"get", "all", "--scope", "tenant", "-o", "name"}, target[:4])...).out)
		slices.Sort(left)
		if (got.code != 0) != (row.rejected != "") || !strings.Contains(got.out, row.rejected) ||
			strings.Join(left, " ") != row.left {
			t.Errorf("%s: %+v, left %v, want %s", row.name, got, left, row.left)
		}
	}
}

// TestApplySuggests checks that the warning about an absent record names a similar one.
func TestApplySuggests(t *testing.T) {
	t.Parallel()
	apply := []string{"apply", "-", "--url", shared(t), "--tenant", "suggests"}
	do(t, `{"tool_id": "netbox.vlans.list"}`, apply...)
	got := do(t, `{"skill_id": "a.b", "tool_ids": ["netbox.vlan.list"]}`, apply...)
	if !strings.Contains(got.out, "did you mean") || strings.Count(got.out, "netbox.vlans.list") != 1 {
		t.Errorf("%+v", got)
	}
}

// TestApplyRetries checks that only retryable errors are retried.
func TestApplyRetries(t *testing.T) {
	t.Parallel()
	var received atomic.Int32
	url := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/health" {
			return
		}
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"code": "CE-081", "status": 404, "title": "record not found"}`)
			return
		}
		switch received.Add(1) {
		case 1, 2:
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"code": "CE-011", "status": 503, "title": "dependency unavailable"}`)
		default:
			_, _ = io.WriteString(w, `{"kind": "agent", "id": "a", "indexed": false}`)
		}
	})
	got := do(t, `{"agent_id": "a"}`, "apply", "--url", url, "-")
	if got.code != 0 || received.Load() != 3 || !strings.Contains(got.out, "1 are durable but not searchable yet") ||
		!strings.Contains(got.err, "retries: 2, because") {
		t.Errorf("%d requests: %+v", received.Load(), got)
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
