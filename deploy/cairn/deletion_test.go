package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"cairn/test/cairntest"
)

// TestDeletionOfReferencedRecords deletes records to which others link, without a terminal.
func TestDeletionOfReferencedRecords(t *testing.T) {
	t.Parallel()
	url := shared(t)
	target := []string{"--url", url, "--tenant", "referenced"}
	run := func(stdin string, args ...string) result { return do(t, stdin, append(args, target...)...) }
	const (
		cycle = `{"skill_id": "net.a", "tool_ids": ["p.s.t"], "context_builder_ids": ["b"]} {"tool_id": "p.s.t"} ` +
			`{"context_builder_id": "b", "instructions": "x", "skill_ids": ["net.a"]}`
		outside = `{"skill_id": "net.other", "tool_ids": ["p.s.t"]}`
		all     = "context_builder/b skill/net.a skill/net.other tool/p.s.t"
	)
	for _, row := range []struct {
		name  string
		stdin string
		args  []string
		code  int
		left  string
	}{
		{"records to which another one links", "", []string{"delete", "tool/p.s.t", "skill/net.a"}, exitRejected, all},
		{"records that only link to each other", "", []string{"delete", "skill/net.a", "context_builder/b"}, 0,
			"skill/net.other tool/p.s.t"},
		{"with --force", "", []string{"delete", "tool/p.s.t", "skill/net.a", "--force"}, 0,
			"context_builder/b skill/net.other"},
		{"a prune of a record to which one of another kind links", `{"tool_id": "p.s.new"}`,
			[]string{"apply", "-", "--prune"}, exitRejected,
			"context_builder/b skill/net.a skill/net.other tool/p.s.new tool/p.s.t"},
		{"a dry run of this prune", `{"tool_id": "p.s.new"}`, []string{"apply", "-", "--prune", "--dry-run"}, exitRejected,
			all},
		{"a dry run with --force", `{"tool_id": "p.s.new"}`, []string{"apply", "-", "--prune", "--dry-run", "--force"}, 0,
			all},
		{"a dry run of a prune that removes the links",
			`{"tool_id": "p.s.new"} {"skill_id": "net.a"} {"skill_id": "net.other"}`,
			[]string{"apply", "-", "--prune", "--dry-run"}, 0, all},
		{"a prune with --force", `{"tool_id": "p.s.new"}`, []string{"apply", "-", "--prune", "--force"}, 0,
			"context_builder/b skill/net.a skill/net.other tool/p.s.new"},
		{"a prune of records that only link to each other",
			`{"tool_id": "p.s.new"} {"skill_id": "net.new"} {"context_builder_id": "new", "instructions": "x"}`,
			[]string{"apply", "-", "--prune"}, 0, "context_builder/new skill/net.new tool/p.s.new"},
	} {
		run(cycle+outside, "apply", "-").must(t)
		got := run(row.stdin, row.args...)
		left := strings.Fields(run("", "get", "all", "--scope", "tenant", "-o", "name").out)
		slices.Sort(left)
		if got.code != row.code || strings.Join(left, " ") != row.left {
			t.Errorf("%s: left %v, want %s: %+v", row.name, left, row.left, got)
		}
		if row.code == exitRejected && !strings.Contains(got.err, " to it: skill/net.") {
			t.Errorf("%s: %s", row.name, got.err)
		}
		run("", append([]string{"delete", "--force"}, left...)...)
	}
	run(cycle, "apply", "-").must(t)
	status, body := cairntest.Request(t, http.MethodDelete, url+"/records/tool/p.s.t?tenant_id=referenced", "")
	if status != http.StatusConflict || !strings.Contains(body, `"referrers":{"count":1,"first":[{"kind":"skill","id":"net.a"`) {
		t.Errorf("without force: %d %s", status, body)
	}
	if status, body := cairntest.Request(t, http.MethodDelete, url+"/records/tool/p.s.t?tenant_id=referenced&force=true", ""); status != 204 {
		t.Errorf("with force: %d %s", status, body)
	}
}
