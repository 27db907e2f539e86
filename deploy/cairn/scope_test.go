package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestScopeOfKey runs the commands that read and change records with each kind of credential, without --tenant unless
// the credential has several tenants. Each command has the scope in which the server registers.
func TestScopeOfKey(t *testing.T) {
	t.Parallel()
	p, address := reached(t, "--auth", "keys")
	create := func(args ...string) string {
		return createKey(t, address, append([]string{"--role", "admin"}, args...)...)
	}
	dir := t.TempDir()
	file, fewer := filepath.Join(dir, "records.jsonl"), filepath.Join(dir, "fewer.jsonl")
	write(t, dir, "records.jsonl", `{"skill_id": "net.trace", "purpose": "trace routes"}`+"\n"+
		`{"tool_id": "net.ping.run", "description": "ping"}`+"\n")
	write(t, dir, "fewer.jsonl", `{"skill_id": "net.trace", "purpose": "trace routes"}`+"\n")
	imports := t.TempDir()
	write(t, imports, "dig/SKILL.md", "---\nname: dig\ndescription: resolve names\n---\nUse dig.\n")
	several := create("--tenant", "one,two")
	for _, row := range []struct {
		name   string
		access []string
		scope  string // as whoami prints it
	}{
		{"a key of one tenant", []string{"--url", p.http, "--key", create("--tenant", "team")}, "team"},
		{"a key of two tenants", []string{"--url", p.http, "--key", several, "--tenant", "two"}, "none: set --tenant"},
		{"a key of all tenants", []string{"--url", p.http, "--key", create("--all-tenants")}, "global"},
		{"no authentication", []string{"--url", startIsolated(t).http}, "global"},
	} {
		whoami := append([]string{"whoami"}, row.access[:min(4, len(row.access))]...)
		if got := do(t, "", whoami...); got.code != 0 || !strings.Contains(got.out, row.scope) {
			t.Errorf("%s: whoami: %+v, want the scope %q", row.name, got, row.scope)
		}
		for _, step := range []struct {
			args []string
			want string
		}{
			{[]string{"diff", file}, "+skill_id: net.trace"},
			{[]string{"apply", file}, "2 created"},
			{[]string{"apply", file}, "2 unchanged"},
			{[]string{"import", imports}, "1 created"},
			{[]string{"import", imports}, "1 unchanged"},
			{[]string{"get", "skill", "net.trace"}, "trace routes"},
			{[]string{"get", "skill", "-o", "json"}, `"net.trace"`},
			{[]string{"describe", "skill", "net.trace"}, "net.trace"},
			{[]string{"edit", "tool/net.ping.run", "--editor", "true"}, "nothing changed"},
			{[]string{"search", "trace routes"}, "net.trace"},
			{[]string{"search", "--kind", "tool", "net ping run"}, "net.ping.run"},
			{[]string{"resolve", "net.trace"}, "trace routes"},
			{[]string{"export"}, "net.trace"},
			{[]string{"apply", "--prune", fewer}, "1 pruned"},
			{[]string{"delete", "skill", "net.trace"}, "deleted"},
			{[]string{"tags", "write", "r1", "--flow", "f", "a=b"}, ""},
			{[]string{"tags", "get", "r1"}, `"b"`},
		} {
			got := do(t, "", append(step.args, row.access...)...)
			if got.code != 0 && step.args[0] != "diff" || !strings.Contains(got.out, step.want) {
				t.Errorf("%s: %v: %+v, want %q", row.name, step.args, got, step.want)
			}
		}
	}
	access := []string{"--url", p.http, "--key", create("--tenant", "team")}
	link := `{"skill_id": "net.own", "tool_ids": ["net.own.run"]} {"tool_id": "net.own.run"}`
	do(t, link, append([]string{"apply", "-"}, access...)...).must(t)
	access[3] = create("--tenant", "team", "--role", "reader")
	for _, command := range [][]string{{"delete", "tool/net.own.run"}, {"edit", "tool/net.own.run", "--editor", "false"}} {
		got := do(t, "", append(command, access...)...)
		if got.code != exitRejected || !strings.Contains(got.err, "CE-007") {
			t.Errorf("a reader: %v: %+v, want CE-007", command, got)
		}
	}
	for _, command := range [][]string{{"apply", file}, {"export"}, {"get", "skill"}, {"search", "routes"}} {
		got := do(t, "", append(command, "--url", p.http, "--key", several)...)
		if got.code == 0 || !strings.Contains(got.err+got.out, "tenant") {
			t.Errorf("a key of two tenants without --tenant: %v: %+v, want an error that names the tenant", command, got)
		}
	}
}
