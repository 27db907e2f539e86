package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestImport runs imports of one source in order against one tenant.
func TestImport(t *testing.T) {
	t.Parallel()
	target := []string{"--url", shared(t), "--tenant", "import"}
	dir := t.TempDir()
	skill := func(name, text string) {
		write(t, dir, name+"/SKILL.md", "---\nname: "+name+"\ndescription: "+text+"\n---\n\n# Steps\n")
	}
	skill("a", "first")
	skill("b", "second")
	run := func(stdin string, args ...string) result { return do(t, stdin, append(args, target...)...) }
	step := func(name string, code int, want string, args ...string) {
		t.Helper()
		got := run("", append([]string{"import", dir, "--source", "folder"}, args...)...)
		for part := range strings.SplitSeq(want, "|") {
			if got.code != code || !strings.Contains(got.out+got.err, part) {
				t.Errorf("%s: %+v; want exit %d and %q", name, got, code, part)
			}
		}
	}
	step("a preview", 0, "--- registered skill/skills.a|+description: first|+source: folder|compared 2 of 2 records|created  skill/skills.b  import", "--dry-run")
	step("an import", 0, ": 2 created")
	step("the same again", 0, ": 2 unchanged")
	step("a preview of nothing", 0, "compared 2 of 2 records", "--dry-run")
	skill("a", "changed")
	step("a preview of a change", 0, "-description: first\n+description: changed", "--dry-run")
	step("a change", 0, ": 1 configured, 1 unchanged")

	run(`{"skill_id":"skills.c","source":"other"} {"skill_id":"skills.d"}`, "apply", "-").must(t)
	skill("c", "third")
	skill("d", "fourth")
	step("records of another source", exitRejected,
		`registered with the source "other"|registered with the source "none"|--overwrite`)
	step("are replaced if asked", 0, ": 2 configured, 2 unchanged", "--overwrite")

	for _, name := range []string{"b", "c"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	run(`{"skill_id":"skills.e","source":"elsewhere"} {"skill_id":"skills.f"}`, "apply", "-").must(t)
	step("without prune", 0, ": 2 unchanged")
	step("a preview of prune", 0, "pruned  skill/skills.b", "--prune", "--dry-run")
	write(t, dir, "g/SKILL.md", "no frontmatter")
	write(t, dir, "h/SKILL.md", "")
	step("invalid skills prevent prune", exitUsage,
		"rejected 2:|  2 × expected YAML frontmatter|g/SKILL.md  expected YAML frontmatter", "--prune")
	for _, name := range []string{"g", "h"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	step("prune", 0, "2 unchanged, 2 pruned", "--prune")
	left := strings.Fields(run("", "get", "skills", "--scope", "tenant", "-o", "name").out)
	if strings.Join(left, " ") != "skill/skills.a skill/skills.d skill/skills.e skill/skills.f" {
		t.Errorf("left %v", left)
	}
	got := run("", "import", dir, "--source", "folder", "-o", "json")
	var result struct{ Actions map[string]int }
	if err := json.Unmarshal([]byte(got.out), &result); err != nil || result.Actions["unchanged"] != 2 {
		t.Errorf("%v, %+v", err, got)
	}
	dir = t.TempDir()
	write(t, dir, "x/SKILL.md", "---\nname: y\ndescription: a: b\n---\n")
	write(t, dir, "x/large", strings.Repeat("x", 1<<20))
	write(t, dir, "z/SKILL.md", "---\nname: zz\ndescription: d\n---\n")
	step("a skill with warnings", 0, "SKILL.md: omitted large|: 2 created|warnings 4:|"+
		"  2 × name: expected the name of the directory\n|  1 × frontmatter: expected valid YAML\n", "--lenient")
	step("warnings are errors with strict", exitUsage, "rejected 2:", "--strict")
	write(t, dir, "version.json", `{"openapi":"9"}`)
	write(t, dir, "paths.json", `{"openapi":"3.1.0","paths":7}`)
	write(t, dir, "list.json", `[7]`)
	for _, args := range [][]string{{"import"}, {"import", dir, "--id", "x"}, {"import", "a", "b"},
		{"import", dir, "--format", "x"},
		{"import", dir, "--timeout", "0s"},
		{"import", dir, "--prune"}, {"import", dir + "/version.json"}, {"import", dir + "/paths.json"},
		{"import", dir + "/list.json"}, {"import", "--", "sh", "-c", "echo hello"}} {
		if got := run("", args...); got.code != exitUsage {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

// TestImportFromCairn imports the tools of a Cairn, as an MCP server, and its records.
func TestImportFromCairn(t *testing.T) {
	t.Parallel()
	source, target := startIsolated(t), shared(t)
	do(t, `{"tool_id":"a.b.c","x":[1,null]} {"skill_id":"x.y","resources":[{"path":"a","text":"t"}],"instructions":"# Steps"}
{"agent_id":"other","tenant_id":"acme"}`, "apply", "-", "--url", source.http).must(t)
	bin := filepath.Join(clone(t), "bin", "cairn")
	for _, row := range []struct {
		name string
		args []string
		want string
	}{
		{"MCP over HTTP", []string{source.http + "/mcp", "--agents", "--tenant", "http"}, "agent  1"},
		{"MCP over stdio", []string{"--source", "cairn", "--tenant", "stdio", "--", bin, "mcp", "--url", source.http},
			"created"},
		{"the global records", []string{source.http, "--tenant", "copy"}, ": 2 created"},
		{"again", []string{source.http, "--tenant", "copy", "--prune"}, ": 2 unchanged"},
		{"the records of a tenant", []string{source.http, "--tenant", "copy2", "--source-tenant", "acme"}, "agent  1"},
	} {
		if got := do(t, "", append([]string{"import", "--url", target}, row.args...)...); got.code != 0 ||
			!strings.Contains(got.out, row.want) {
			t.Errorf("%s: %+v, want %s", row.name, got, row.want)
		}
	}
	if got := do(t, "", "get", "skill", "x.y", "--url", target, "--tenant", "copy", "-o",
		"json"); !strings.Contains(got.out,
		`"text": "t"`) ||
		!strings.Contains(got.out, `"source": "`+source.http+`"`) || !strings.Contains(got.out, `"tenant_id": "copy"`) {
		t.Errorf("%+v", got)
	}
	closed := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"code":"CE-006","title":"not authenticated","status":401}`)
	})
	for _, format := range []string{"", "cairn"} {
		got := do(t, "", "import", closed, "--format", format, "--url", target)
		if got.code != exitRejected || !strings.Contains(got.err, "; set --source-key or --source-key-file\n") {
			t.Errorf("a source that requires a key: %+v", got)
		}
	}
	got := do(t, "", "get", "tools", "--url", target, "--tenant", "stdio", "-o", "name")
	if !strings.Contains(got.out, "tool/mcp.cairn.search_skills\n") {
		t.Errorf("%+v", got)
	}
}
