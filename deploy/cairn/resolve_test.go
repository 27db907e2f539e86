package main

import (
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/mod/semver"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	s := startIsolated(t)
	do(t, "", "apply", "--url", s.http, "../examples/knowledge").must(t)
	own := `{"guardrail_id": "guard.no_deletion", "tenant_id": "scopes", "domain": "storage", "description": "own."}`
	do(t, own, "apply", "--url", s.http, "-").must(t)
	for _, row := range []step{
		{"a guardrail of the tenant", []string{"resolve", "storage.volume_capacity", "--tenant", "scopes", "--explain"}, 0,
			"own.  [tenant, via guards_domain]"},
		{"and the global one with its id", []string{"resolve", "storage.volume_capacity", "--tenant", "scopes", "--explain"},
			0, "[global, via guards_domain]"},
		{"without --explain, the scope of guardrails", []string{"resolve", "storage.volume_capacity", "--tenant", "scopes"},
			0, "own.  [tenant]"},
		{"the scope of an absent record", []string{"get", "skill", "cook.bread", "--tenant", "acme", "--scope", "tenant"},
			exitNotFound, `no skill "cook.bread" in tenant "acme"` + "\n"},
		{"a variable without a name", []string{"resolve", "--template", "x", "--var", "=x"}, exitUsage,
			"expected NAME=VALUE"},
		{"a query", []string{"search", "machines without security patches"}, 0, "Find hosts that miss security patches"},
		{"an id", []string{"resolve", "network.path_trace"}, 0, "└─ guard.no_secrets"},
		{"explain prints the source of each part",
			[]string{"resolve", "storage.volume_capacity", "--tenant", "acme", "--explain"}, 0,
			"[global, via builds_domain]"},
		{"an unknown id", []string{"resolve", "cook.bread"}, exitNotFound,
			"cairn: CE-031 skill not found: no skill \"cook.bread\" in the global collection"},
		{"a malformed id", []string{"resolve", "volumes"}, exitUsage, "skill_id: expected at least 2 dot-separated segments"},
		{"an agent", []string{"search", "--kind", "agent", "why is a connection blocked"}, 0, "ops.network_agent"},
		{"a class of tools", []string{"resolve", "--tool-class", "inventory.read"}, 0, "netmap.vlans.list"},
		{"an unknown class of tools", []string{"resolve", "--tool-class", "none"}, exitNotFound, "CE-071"},
		{"a top_k above the maximum", []string{"search", "--top-k", "500", "hosts"}, exitUsage,
			"top_k: expected an integer from 1 to 100"},
		{"by words alone", []string{"search", "--search", "text", "--explain", "full volumes"}, 0,
			"[global, via search, text rank 1]\n"},
		{"by vectors alone", []string{"search", "--search", "vector", "--explain", "full volumes"}, 0,
			"[global, via search, vector rank 1]\n"},
		{"an agent by vectors alone",
			[]string{"search", "--kind", "agent", "--search", "vector", "--explain", "why is a connection blocked"}, 0,
			"[global, via search, vector rank 1]\n"},
		{"both scopes", []string{"search", "--tenant", "acme", "--scope", "both", "--explain", "full volumes"}, 0,
			"[global, via search"},
		{"an agent of both scopes",
			[]string{"search", "--kind", "agent", "--tenant", "acme", "--scope", "both", "why is a connection blocked"}, 0,
			"ops.network_agent"},
		{"a kind in the plural", []string{"search", "--kind", "tools", "hosts with site and role"}, 0, "TOOL"},
		{"tools", []string{"search", "--kind", "tool", "hosts with site and role"}, 0, "TOOL"},
		{"guardrails", []string{"search", "--kind", "guardrail", "never repeat passwords and keys", "-o", "name"}, 0,
			"guardrail/guard.no_secrets\n"},
		{"templates", []string{"search", "--kind", "template", "capacity report", "--explain"}, 0,
			"[global, via search, text rank 1"},
		{"guardrails of a tenant and global ones", []string{"search", "--kind", "guardrail", "--tenant", "globex",
			"names of people", "-o", "wide"}, 0, "globex"},
		{"no guardrail", []string{"search", "--kind", "guardrail", "zebra xylophone", "--search", "text"}, exitNotFound,
			"CE-081 record not found: no active guardrail matches the query"},
		{"an unknown kind", []string{"search", "--kind", "context_builder", "x"}, exitUsage,
			"expected skill, agent, tool, guardrail or template"},
		{"a top_k of tools above the maximum", []string{"search", "--kind", "tool", "--top-k", "500", "hosts"}, exitUsage,
			"limit: expected an integer from 1 to 100"},
		{"an unknown scope", []string{"search", "--scope", "everywhere", "full volumes"}, exitUsage, "expected both"},
		{"an unknown search method", []string{"search", "--search", "luck", "full volumes"}, exitUsage,
			"expected hybrid, text or vector"},
		{"only a domain", []string{"search", "--domain", "network", "blocked hosts", "-o", "name"}, 0, "skill/network."},
		{"a domain without skills", []string{"search", "--domain", "none", "full volumes"}, exitNotFound, "CE-031"},
		{"a malformed label", []string{"search", "--labels", "a", "full volumes"}, exitUsage,
			"--labels: expected name=value"},
		{"names", []string{"search", "full volumes", "--top-k", "1", "-o", "name"}, 0, "skill/storage.volume_capacity\n"},
		{"the wide format", []string{"search", "full volumes", "-o", "wide"}, 0, "VERSION"},
		{"YAML", []string{"search", "full volumes", "-o", "yaml"}, 0, "skills:\n  - score: "},
		{"for programs", []string{"search", "-o", "json", "--top-k", "1", "full volumes"}, 0,
			`"skill_id": "storage.volume_capacity"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			row.check(t, "--url", s.http)
		})
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	s := startIsolated(t)
	if got := do(t, "", "status", "--url", s.http); got.code != 0 || !strings.Contains(got.out, "model offline:") {
		t.Errorf("%+v", got)
	}
	if got := do(t, "", "status", "--url", s.http, "-ojson"); got.code != 0 ||
		!strings.Contains(got.out, `"status": "ok"`) {
		t.Errorf("%+v", got)
	}
	down := answering(t, 503, `{"service": "cairn", "status": "down", "degraded": ["NATS is unavailable"]}`)
	if got := do(t, "", "status", "--url", down); got.code != exitUnavailable || got.err != "" ||
		!strings.Contains(got.out, "NATS is unavailable") {
		t.Errorf("%+v", got)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	if got := do(t, "", "version"); got.code != 0 || !strings.HasPrefix(got.out, "cairn ") {
		t.Errorf("%+v", got)
	}
	if got := do(t, "", "version", "-ojson"); got.code != 0 || !strings.Contains(got.out, `"go": "go1`) {
		t.Errorf("%+v", got)
	}
}

// TestVersionOfTheBuild checks that the version is semantic, which NATS services require.
func TestVersionOfTheBuild(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "make", "-s", "-C", "../..", "version")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("make version: %v", err)
	}
	if v := strings.TrimSpace(string(out)); !semver.IsValid("v" + v) {
		t.Errorf("version %q is not semantic", v)
	}
}
