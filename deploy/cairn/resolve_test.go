package main

import (
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/mod/semver"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	s := alone(t)
	if got := do(t, "", "register", "--url", s.http, "../examples/knowledge"); got.code != 0 {
		t.Fatal(got)
	}
	for _, row := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"a query", []string{"machines without security patches"}, 0, "Find hosts that miss security patches"},
		{"an id", []string{"network.path_trace"}, 0, "└─ guard.no_secrets"},
		{"where parts came from", []string{"storage.volume_capacity", "--tenant", "acme", "--explain"}, 0, "[global, via builds_domain]"},
		{"an id that is unknown", []string{"cook.bread"}, 1,
			"cairn: CE-031 skill not found: no skill \"cook.bread\" in the global collection: \"cook.bread\" was interpreted as a skill id"},
		{"an id that is a query", []string{"--query", "storage.volume"}, 0, "storage.volume_capacity"},
		{"a query that is an id", []string{"--skill", "volumes"}, 1, "skill_id: want at least 2 dot-separated segments"},
		{"an agent", []string{"--agent", "why is a connection blocked"}, 0, "ops.network_agent"},
		{"a tool", []string{"--tool", "erp.costs.list", "--tenant", "acme"}, 0, "Monthly cost of Acme assets."},
		{"a tool of another tenant", []string{"--tool", "erp.costs.list"}, 1, "CE-071"},
		{"a class of tools", []string{"--tool-class", "inventory.read"}, 0, "netmap.vlans.list"},
		{"more than there may be", []string{"--top-k", "500", "hosts"}, 1, "top_k: want an integer from 1 to 100"},
		{"by words alone", []string{"--search", "text", "--explain", "full volumes"}, 0, "[global, via search, text rank 1]\n"},
		{"by vectors alone", []string{"--search", "vector", "--explain", "full volumes"}, 0, "[global, via search, vector rank 1]\n"},
		{"an agent by vectors alone", []string{"--agent", "--search", "vector", "--explain", "why is a connection blocked"}, 0,
			"[global, via search, vector rank 1]\n"},
		{"by nothing that is known", []string{"--search", "luck", "full volumes"}, 1, "search: want hybrid, text or vector, got \"luck\""},
		{"for programs", []string{"--json", "--top-k", "1", "full volumes"}, 0, `"skill_id": "storage.volume_capacity"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := do(t, "", append([]string{"resolve", "--url", s.http}, row.args...)...)
			if got.code != row.code || !strings.Contains(got.out+got.err, row.says) {
				t.Errorf("%+v; want exit %d and %q", got, row.code, row.says)
			}
		})
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	s := alone(t)
	if got := do(t, "", "status", "--url", s.http); got.code != 0 || !strings.Contains(got.out, "model offline:") {
		t.Errorf("%+v", got)
	}
	if got := do(t, "", "status", "--url", s.http, "--json"); got.code != 0 || !strings.Contains(got.out, `"status": "ok"`) {
		t.Errorf("%+v", got)
	}
	down := answering(t, 503, `{"service": "cairn", "status": "down", "degraded": ["NATS is away"]}`)
	if got := do(t, "", "status", "--url", down); got.code != 1 || got.err != "" || !strings.Contains(got.out, "NATS is away") {
		t.Errorf("%+v", got)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	if got := do(t, "", "version"); got.code != 0 || !strings.HasPrefix(got.out, "cairn ") {
		t.Errorf("%+v", got)
	}
	if got := do(t, "", "version", "--json"); got.code != 0 || !strings.Contains(got.out, `"go": "go1`) {
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
