package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/deploy/internal/records"
)

func TestRegister(t *testing.T) {
	t.Parallel()
	s := alone(t)
	dir := t.TempDir()
	write(t, dir, "b.jsonl", `{"skill_id": "net.trace", "purpose": "first"}`+"\n"+
		`{"skill_id": "net.trace", "purpose": "trace routes"}`+"\n"+`{"skill_id": "flat"}`)
	write(t, dir, "sub/c.yaml", "tool_id: a.b.c\n---\n- nothing: here\n")
	write(t, dir, ".hidden/d.json", `{"broken`)
	got := do(t, "", "register", "--url", s.http, "--json", dir)
	type summary struct {
		Accepted         map[string]int
		Refused          []records.Refusal
		Later            int `json:"searchable_later"`
		Unsent, Revision int
		DryRun           bool `json:"dry_run"`
	}
	var told summary
	if err := json.Unmarshal([]byte(got.out), &told); err != nil || got.code != 1 || got.err != "" {
		t.Fatalf("%v, %+v", err, got)
	}
	want := summary{Accepted: map[string]int{"skill": 2, "tool": 1}, Revision: 3, Refused: []records.Refusal{
		{Source: filepath.Join(dir, "b.jsonl:3"), Kind: "skill", ID: "flat", Code: "CE-061", Message: "invalid registration request",
			Fields: told.Refused[0].Fields},
		{Source: filepath.Join(dir, "sub/c.yaml:3"), Message: told.Refused[1].Message},
	}}
	if diff := cmp.Diff(want, told); diff != "" || len(told.Refused[0].Fields) != 1 {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if found := do(t, "", "resolve", "--url", s.http, "net.trace"); !strings.Contains(found.out, "trace routes") {
		t.Errorf("the later of two did not win: %+v", found)
	}
	people := do(t, `{"skill_id": "flat"}`, "register", "--url", s.http, "-")
	if people.code != 1 || !strings.Contains(people.out,
		"rejected 1:\n  stdin:1  skill  flat  CE-061  record.skill_id: want at least 2 dot-separated segments") {
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
