package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/deploy/internal/flags"
	"cairn/test/cairntest"
	"cairn/test/wait"
)

// TestRecordCommands runs the commands about records in order against one tenant.
func TestRecordCommands(t *testing.T) {
	t.Parallel()
	url := shared(t)
	dir := t.TempDir()
	write(t, dir, "records.yaml",
		"skill_id: net.trace\npurpose: trace routes\ntool_ids: [a.b.c]\nstatus: draft\nlabels: {team: net}\n---\n"+
			"tool_id: a.b.c\ndescription: a tool\n")
	file := filepath.Join(dir, "records.yaml")
	for _, row := range []step{
		{"an empty scope", []string{"get", "all", "--scope", "tenant"}, 0, "no records found\n"},
		{"an empty scope as JSON", []string{"get", "all", "--scope", "tenant", "-o", "json"}, 0, "[]\n"},
		{"a new record differs", []string{"diff", file}, exitFailed, "+purpose: trace routes\n"},
		{"a dry run", []string{"apply", file, "--dry-run"}, 0, "  created  skill/net.trace  commands\n"},
		{"register", []string{"apply", file}, 0, "applied 2 of 2 records"},
		{"no difference", []string{"diff", file}, 0, ""},
		{"a list", []string{"get", "skills"}, 0,
			"NAME       SCOPE     STATUS  DESCRIPTION\nnet.trace  commands  draft   trace routes\n"},
		{"a list of all kinds", []string{"list", "all", "-o", "name", "--scope", "tenant"}, 0,
			"skill/net.trace\ntool/a.b.c\n"},
		{"wide", []string{"get", "skill,tool", "-o", "wide"}, 0, "team=net"},
		{"only some labels", []string{"get", "skill", "--labels", "team=other"}, 0, "no records found"},
		{"an unknown status", []string{"get", "skill", "--status", "retired"}, 0, "no records found"},
		{"by id", []string{"get", "skill", "net.trace", "-o", "yaml"}, 0, "purpose: trace routes\nskill_id: net.trace\n"},
		{"by name", []string{"get", "tools/a.b.c", "-o", "json"}, 0, "{\n  \"description\": \"a tool\",\n"},
		{"several", []string{"get", "skill/net.trace", "tool/a.b.c", "-o", "name"}, 0, "skill/net.trace\ntool/a.b.c\n"},
		{"several of which one is absent", []string{"get", "skill", "net.trace", "net.none", "-o", "name"}, exitNotFound,
			"skill/net.trace\n"},
		{"an absent record", []string{"get", "skill", "net.none"}, exitNotFound, "CE-081"},
		{"an unknown kind", []string{"get", "playbook"}, exitUsage, `unknown kind "playbook": expected skill, agent`},
		{"several kinds with an id", []string{"get", "skill,tool", "a.b.c"}, exitUsage, "expected one kind before the ids"},
		{"a kind without an id", []string{"get", "skill/"}, exitUsage, "expected KIND/ID"},
		{"an unknown scope", []string{"get", "skill", "--scope", "all"}, exitUsage, "expected tenant or global"},
		{"a limit of 0", []string{"get", "skill", "--limit", "0"}, exitUsage, "--limit: expected at least 1"},
		{"a limit", []string{"get", "all", "--scope", "tenant", "--limit", "1"}, 0, "net.trace"},
		{"describe", []string{"describe", "skill", "net.trace"}, 0, "Scope:     commands\nStatus:    draft\n"},
		{"describe has the usage", []string{"describe", "skill", "net.trace"}, 0, "Found:     never\n"},
		{"describe has the package", []string{"describe", "skill/net.trace"}, 0, "  └─ a.b.c"},
		{"describe has the referrers", []string{"describe", "tool", "a.b.c"}, 0,
			"Referrers:\n  skill/net.trace  commands  tool_ids  draft\n"},
		{"describe as JSON", []string{"describe", "skill", "net.trace", "-o", "json"}, 0, "\"usage\": {\n"},
		{"describe as YAML", []string{"describe", "skill/net.trace", "tool/a.b.c", "-o", "yaml"}, 0, "- kind: tool\n"},
		{"describe by name", []string{"describe", "tool", "a.b.c", "-o", "name"}, 0, "tool/a.b.c\n"},
		{"the names of a package", []string{"resolve", "net.trace", "-o", "name"}, 0, "skill/net.trace\ntool/a.b.c\n"},
		{"describe an absent record", []string{"describe", "skill", "net.none"}, exitNotFound, "CE-081"},
		{"describe a kind", []string{"describe", "skill"}, exitUsage, "expected KIND ID"},
		{"an export", []string{"export"}, 0, "---\nlabels:\n  team: net\n"},
		{"an export of a kind", []string{"export", "tools", "-o", "json"}, 0, "[\n  {\n    \"description\": \"a tool\""},
		{"an edit that changes nothing", []string{"edit", "tool/a.b.c", "--editor", "true"}, 0, "nothing changed\n"},
		{"an editor that fails", []string{"edit", "tool/a.b.c", "--editor", "false"}, exitFailed,
			"editor false: exit status 1"},
		{"an edit", []string{"edit", "tool", "a.b.c", "--editor", "sed -i s/a.tool/edited/", "-m", "why"}, 0,
			"edited tool/a.b.c, revision "},
		{"diff has the message of the edit", []string{"diff", file}, exitFailed, "Z  why\n+++ " + file},
		{"is registered", []string{"get", "tool", "a.b.c"}, 0, "edited\n"},
		{"its history", []string{"get", "tool", "a.b.c", "--history"}, 0, "STATUS  VERSION  ACTOR  MESSAGE\n"},
		{"its history has the newest revision", []string{"get", "tool", "a.b.c", "--history"}, 0, "  active\n"},
		{"its history as JSON", []string{"get", "tool", "a.b.c", "--history", "-o", "json"}, 0, `"stored_at": "`},
		{"the history of an absent record", []string{"get", "tool", "a.b.x", "--history"}, exitNotFound, "CE-081"},
		{"the history of a kind", []string{"get", "tool", "--history"}, exitUsage, "expect one KIND ID"},
		{"a malformed revision", []string{"get", "tool", "a.b.c", "--revision", "x"}, exitUsage, "revision"},
		{"an unknown revision", []string{"get", "tool", "a.b.c", "--revision", "x-1"}, exitNotFound, "CE-081"},
		{"history and revision", []string{"get", "tool", "a.b.c", "--history", "--revision", "x-1"}, exitUsage,
			"history revision"},
		{"an edit of an absent record", []string{"edit", "tool", "a.b.x"}, exitNotFound, "CE-081"},
		{"delete a record with referrers", []string{"delete", "tool/a.b.c"}, exitRejected,
			"1 record links to it: skill/net.trace of tenant commands"},
		{"delete", []string{"delete", "tool/a.b.c", "skill/net.none", "--force"}, exitNotFound, "deleted tool/a.b.c\n"},
		{"delete an absent record", []string{"delete", "tool", "a.b.c"}, exitNotFound, `no tool "a.b.c" of tenant commands`},
		{"ignore an absent record", []string{"delete", "tool", "a.b.c", "--ignore-not-found"}, 0, ""},
		{"delete a kind", []string{"delete", "tool"}, exitUsage, "expected KIND ID"},
		{"diff without files", []string{"diff"}, exitUsage, "expected files or directories"},
		{"labels without prune", []string{"apply", file, "--labels", "a=b"}, exitUsage, "--labels requires --prune"},
	} {
		row.check(t, "--url", url, "--tenant", "commands")
	}
}

// TestRevisionOfARecord prints the revision that the history lists.
func TestRevisionOfARecord(t *testing.T) {
	t.Parallel()
	url := shared(t)
	cairntest.Request(t, "PUT", url+"/records/agent/revised", `{"purpose":"first"}`)
	names := do(t, "", "get", "agent", "revised", "--history", "-o", "name", "--url", url)
	revision, _, _ := strings.Cut(names.out, "\n")
	got := do(t, "", "get", "agent", "revised", "--revision", revision, "-o", "yaml", "--url", url)
	if want := "agent_id: revised\npurpose: first\n"; got.code != 0 || got.out != want {
		t.Errorf("revision %q: %+v, want %q", revision, got, want)
	}
}

// TestEditConflicts edits records that another writer replaces while the editor is open.
func TestEditConflicts(t *testing.T) {
	t.Parallel()
	url := shared(t)
	for i, row := range []struct{ name, method, want string }{
		{"another change", "PUT", `"purpose":"theirs"`},
		{"a deletion", "DELETE", `"code":"CE-081"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			id, dir := fmt.Sprint("conflict", i), t.TempDir()
			cairntest.Request(t, "PUT", url+"/records/agent/"+id, `{"purpose":"first"}`)
			edited := openEditor(t.Context(), t, dir, "agent/"+id, "--url", url)
			cairntest.Request(t, row.method, url+"/records/agent/"+id, `{"purpose":"theirs"}`)
			write(t, dir, "go", "")
			got := <-edited
			if got.code != exitRejected || !strings.Contains(got.err, "someone else has changed the record") {
				t.Errorf("%+v", got)
			}
			_, path, _ := strings.Cut(got.err, "the edited text was saved to ")
			path = strings.TrimSpace(path)
			if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "purpose: mine") {
				t.Errorf("the saved text is %q, %v", text, err)
			}
			_ = os.Remove(path) // of the temporary directory
			if _, text := cairntest.Request(t, "GET", url+"/records/agent/"+id, ""); !strings.Contains(text, row.want) {
				t.Errorf("the record is %s, want %s", text, row.want)
			}
		})
	}
}

// TestEditInterrupted checks that an interrupt while the editor is open is left to the editor.
func TestEditInterrupted(t *testing.T) {
	t.Parallel()
	url, dir := shared(t), t.TempDir()
	cairntest.Request(t, "PUT", url+"/records/agent/interrupted", `{"purpose":"first"}`)
	ctx, interrupt := context.WithCancel(t.Context())
	edited := openEditor(ctx, t, dir, "agent/interrupted", "--url", url)
	interrupt()
	write(t, dir, "go", "")
	got := <-edited
	if _, text := cairntest.Request(t, "GET", url+"/records/agent/interrupted", ""); got.code != 0 ||
		!strings.Contains(text, `"purpose":"mine"`) {
		t.Errorf("%+v, record %s", got, text)
	}
}

// openEditor edits a record with an editor that changes its purpose to mine, and returns when the editor is open. The
// editor is closed when dir has a file go.
func openEditor(ctx context.Context, t *testing.T, dir string, args ...string) <-chan result {
	t.Helper()
	editor := writeEditor(t, dir, `sed -i "s/purpose: first/purpose: mine/" "$1"`+"\ncd "+dir+
		"\ntouch ready; while [ ! -e go ]; do sleep 0.01; done")
	edited := make(chan result, 1)
	go func() {
		env := map[string]string{flags.ContextsVariable: noContexts}
		edited <- doIn(ctx, env, "", append([]string{"edit", "--editor", editor}, args...)...)
	}()
	wait.Until(t, "the editor is open", func() bool { return exists(filepath.Join(dir, "ready")) })
	return edited
}

// writeEditor writes a shell script and returns its path.
func writeEditor(t *testing.T, dir, script string) string {
	t.Helper()
	path := filepath.Join(dir, "editor")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil { // #nosec G306 -- an executable
		t.Fatal(err)
	}
	return path
}

// TestEditRejected checks that the editor opens again with the reason.
func TestEditRejected(t *testing.T) {
	t.Parallel()
	url := shared(t)
	cairntest.Request(t, "PUT", url+"/records/agent/rejected", `{"purpose":"first"}`)
	editor := writeEditor(t, t.TempDir(),
		`if grep -q "Not registered: .*version" "$1"; then sed -i "s/version: x/version: 1.0.0/" "$1"`+"\n"+
			`else echo "version: x" >> "$1"; fi`)
	got := do(t, "", "edit", "agent/rejected", "--url", url, "--editor", editor)
	if _, text := cairntest.Request(t, "GET", url+"/records/agent/rejected", ""); got.code != 0 ||
		!strings.Contains(text, `"version":"1.0.0"`) {
		t.Errorf("%+v, record %s", got, text)
	}
}
