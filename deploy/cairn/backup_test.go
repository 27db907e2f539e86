package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/test/cairntest"
	"cairn/test/wait"
)

// responses returns the responses at url to listings, searches and a query for the package
// of a skill.
func responses(t *testing.T, url string) (answers []string) {
	t.Helper()
	for _, q := range [][3]string{
		{"GET", "/skills?limit=1000", ""}, {"GET", "/skills?limit=1000&tenant_id=acme", ""},
		{"GET", "/tools?limit=1000&tenant_id=globex", ""},
		{"POST", "/resolve/skill", `{"query":"which machines still need security updates?"}`},
		{"POST", "/resolve/skill", `{"query":"which volumes are nearly full?","tenant_id":"acme","explain":true}`},
		{"POST", "/resolve/skill", `{"skill_id":"storage.volume_capacity","tenant_id":"acme"}`},
		{"POST", "/resolve/agent", `{"query":"storage"}`},
	} {
		status, body := cairntest.Request(t, q[0], url+q[1], q[2])
		if status != 200 {
			t.Errorf("%v: %d %s", q, status, body)
		}
		// Term weights also depend on replaced records.
		answers = append(answers, regexp.MustCompile(`"score":[0-9.e-]+`).ReplaceAllString(body, `"score":0`))
	}
	return answers
}

func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	source, fromNATS := reached(t)
	do(t, "", "apply", "--url", source.http, "../examples/knowledge").must(t)
	if status, _ := cairntest.Request(t, "DELETE", source.http+"/register/skill/compute.patch_status", ""); status != 204 {
		t.Fatal(status)
	}
	do(t, "", "apply", "--url", source.http, "../examples/knowledge/global/compute.yaml").must(t)
	createKey(t, fromNATS, "--tenant", "acme", "--role", "reader")
	file := filepath.Join(t.TempDir(), "cairn.backup")
	saved := do(t, "", "backup", file, "--nats", fromNATS)
	if saved.code != 0 || !regexp.MustCompile(`(?m)^  cairn_catalog +46$`).MatchString(saved.out) ||
		!regexp.MustCompile(`(?m)^  cairn_keys +1$`).MatchString(saved.out) {
		t.Fatalf("%+v", saved)
	}
	if again := do(t, "", "backup", file, "--nats", fromNATS); again.code != exitUsage ||
		!strings.Contains(again.err, "exists") {
		t.Errorf("an existing file was overwritten: %+v", again)
	}

	target, toNATS := reached(t)
	if got := do(t, "", "restore", file, "--nats", toNATS); got.code != 0 ||
		!strings.HasPrefix(got.out, "restored, up to revision ") {
		t.Fatalf("%+v", got)
	}
	seen, rest, _ := strings.Cut(strings.TrimPrefix(saved.out, "saved, up to revision "), " ")
	if rest == "" {
		t.Fatal(saved.out)
	}
	// Restored records have new revisions, also where a registration changes nothing.
	got := do(t, "", "apply", "--url", target.http, "../examples/knowledge/global/shared.json", "-ojson")
	if got.code != 0 || !regexp.MustCompile(`"revision": \d+`).MatchString(got.out) ||
		strings.Contains(got.out, `"revision": `+seen+`,`) {
		t.Errorf("after revision %s: %+v", seen, got)
	}
	// Workers index restored records like registrations, which nothing has waited for.
	before := responses(t, source.http)
	wait.Success(t, func() error {
		if diff := cmp.Diff(before, responses(t, target.http)); diff != "" {
			return fmt.Errorf("(-before +restored):\n%s", diff)
		}
		return nil
	})
	list := func(nats string) string { return do(t, "", "key", "list", "-ojson", "--nats", nats).out }
	if diff := cmp.Diff(list(fromNATS), list(toNATS)); diff != "" {
		t.Errorf("keys (-before +restored):\n%s", diff)
	}
	if got := do(t, "", "restore", file, "--nats", toNATS); got.code != exitRejected ||
		!strings.Contains(got.err, "bucket cairn_catalog is not empty") || !strings.Contains(got.err, "set --merge") {
		t.Errorf("%+v", got)
	}
}

// TestBackupWithoutStreams checks that the backup of a NATS server without Cairn's streams
// fails and leaves no file.
func TestBackupWithoutStreams(t *testing.T) {
	n := startNode(t, "nats-1", single)
	file := filepath.Join(t.TempDir(), "cairn.backup")
	got := do(t, "", "backup", file, "--nats", "nats://operator:"+password+"@"+n.Addr().String())
	if _, err := os.Stat(file); got.code != 1 || got.out != "" || !strings.Contains(got.err, "KV_cairn_catalog") ||
		err == nil {
		t.Errorf("%+v, and the file: %v", got, err)
	}
}

func TestRestoreInvalidBackups(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "foreign", "hello")
	refuse(t, []refusal{
		{"no file", []string{"restore", filepath.Join(dir, "none")}, "no such file"},
		{"another file", []string{"restore", filepath.Join(dir, "foreign")}, "not a backup of Cairn"},
		{"two files", []string{"restore", "a", "b"}, "expected one FILE"},
		{"a negative number of servers", []string{"restore", "a", "--replicas", "-1"}, "--replicas: expected at least 0"},
		{"no name", []string{"backup"}, "expected one FILE"},
	})
}

// TestBackupAsOperator backs up and restores as the operator and keys users of
// nats.conf, then starts the services of the compose file on the restored streams.
func TestBackupAsOperator(t *testing.T) {
	backends := map[string]string{"CAIRN_INDEX": "embedded:", "CAIRN_EMBED": "lexical:", "CAIRN_MODEL": "offline:",
		"CAIRN_HTTP": "127.0.0.1:0", "CAIRN_AUTH": "off"}
	start := func(n node) string {
		n.container(t, "register", "tags, register on", backends)
		n.container(t, "resolve", "resolve on", backends)
		return n.container(t, "edge", "edge on", backends).URL()
	}
	source, target := startNode(t, "nats-1", single), startNode(t, "nats-1", single)
	source.setup(t, "1")
	before := start(source)
	do(t, "", "apply", "--url", before, "../examples/knowledge").must(t)
	file := filepath.Join(t.TempDir(), "cairn.backup")
	for _, args := range [][]string{
		{"key", "create", "--all-tenants", "--role", "admin", "--nats", source.secret("keys-url")},
		{"backup", file, "--nats", source.secret("operator-url"), "--keys-nats", source.secret("keys-url")},
		{"restore", file, "--nats", target.secret("operator-url"), "--keys-nats", target.secret("keys-url")},
	} {
		if got := do(t, "", args...); got.code != 0 {
			t.Fatalf("%v: %+v", args, got)
		}
	}
	target.setup(t, "1")
	list := func(n node) string { return do(t, "", "key", "list", "-ojson", "--nats", n.secret("keys-url")).out }
	if got, want := list(target), list(source); got != want || !strings.Contains(got, `"admin"`) {
		t.Errorf("the restored keys are %s, want %s", got, want)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if diff := cmp.Diff(responses(t, before), responses(t, start(target))); diff != "" {
		t.Errorf("(-before +restored):\n%s", diff)
	}
	for _, n := range []node{source, target} {
		for _, v := range n.Violations() {
			t.Errorf("the server refuses: %s", v)
		}
	}
}
