package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExportSkills checks that an import of exported skills is a no-op, and that edited files
// change the skills.
func TestExportSkills(t *testing.T) {
	t.Parallel()
	target := []string{"--url", shared(t), "--tenant", "export"}
	run := func(stdin string, args ...string) result { return do(t, stdin, append(args, target...)...) }
	dir := filepath.Join(t.TempDir(), "skills")
	const text = `{"skill_id":"Pdf.fill_forms","purpose":"Fill \"forms\"","description":"With\nlines","instructions":"\n# Steps\n\n---\n1. Open. \n\n",
 "version":"1.2.0","license":"MIT","labels":{"team":"docs"},"source":"elsewhere","tool_ids":["a.b.c"],"status":"deprecated",
 "big":12345678901234567890123,
 "resources":[{"path":"scripts/run.py","text":"print()\r\n","media_type":"text/x-python","x":1},
 {"path":"logo.bin","data":"AP8="},{"path":"text.bin","data":"aGk="},
 {"path":"empty","text":""},{"path":"scripts/exec","text":"x","executable":true}],
 "omitted_resources":["large.xsd"]}
{"skill_id":"pdf.plain","display_name":"Plain","purpose":"p"}
{"skill_id":"pdf.draft","status":"draft","x":{"y":null}}
{"tool_id":"a.b.c","description":"a tool"}`
	if got := run(text, "apply", "-"); got.code != 0 || strings.Contains(got.out, "rejected") {
		t.Fatalf("%+v", got)
	}
	export := func() {
		t.Helper()
		if got := run("", "export", "--format", "skills", "--dir", dir); got.code != 0 ||
			got.out != "exported 3 skills to "+dir+"\n" ||
			!strings.Contains(got.err, "skill Pdf.fill_forms: without large.xsd, ") {
			t.Fatalf("%+v", got)
		}
	}
	imported := func(want string, args ...string) {
		t.Helper()
		if got := run("", append([]string{"import", dir}, args...)...); got.code != 0 || !strings.Contains(got.out, want) {
			t.Errorf("%+v, want %s", got, want)
		}
	}
	export()
	imported(": 3 unchanged\n")
	export() // replaces the files
	imported(": 3 unchanged\n", "--dry-run")
	for file, want := range map[string]string{
		"pdf-fill-forms/SKILL.md":                      "name: \"pdf-fill-forms\"\ndescription: \"Fill \\\"forms\\\". With lines\"\n",
		"pdf-fill-forms/scripts/run.py":                "print()\r\n",
		"pdf-fill-forms/logo.bin":                      "\x00\xff",
		"pdf-fill-forms/references/cairn-package.json": `"description": "a tool"`,
		"pdf-plain/SKILL.md":                           "---\n\n# Plain\n\np\n",
		"pdf-draft/references/cairn-package.json":      `"skill_id": "pdf.draft"`,
	} {
		if got, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s: %q, %v, want %q", file, got, err, want)
		}
	}
	for file, want := range map[string]os.FileMode{"scripts/exec": 0o755, "scripts/run.py": 0o644} {
		info, err := os.Stat(filepath.Join(dir, "pdf-fill-forms", file))
		if err != nil || info.Mode()&0o100 != want&0o100 {
			t.Errorf("%s: %v, %v, want %v", file, info.Mode(), err, want)
		}
	}
	edit := func(file, old, text string) {
		t.Helper()
		content, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, file, strings.Replace(string(content), old, text, 1))
	}
	edit("pdf-fill-forms/SKILL.md", "1. Open.", "1. Close.")
	edit("pdf-fill-forms/scripts/run.py", "print()", "exit()")
	write(t, dir, "pdf-plain/added.md", "more")
	if got := run("", "import", dir); got.code != exitRejected ||
		!strings.Contains(got.out, `registered with the source "elsewhere"`) {
		t.Errorf("edited skills replaced records without --overwrite: %+v", got)
	}
	imported("+  1. Close.\n", "--dry-run", "--overwrite")
	imported(": 2 configured, 1 unchanged\n", "--overwrite")
	got := run("", "get", "skill", "Pdf.fill_forms", "-o", "json").out
	for _, want := range []string{
		`1. Close.`, `"text": "exit()\r\n"`, `"media_type": "text/x-python"`, `"big": 12345678901234567890123`,
		`"source": "elsewhere"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	got = run("", "get", "skill", "pdf.plain", "-o", "json").out
	if strings.Contains(got, "instructions") || !strings.Contains(got, `"text": "more"`) {
		t.Error(got)
	}
	export()
	imported(": 3 unchanged\n")

	if err := os.Remove(filepath.Join(dir, "pdf-plain/references/cairn-package.json")); err != nil {
		t.Fatal(err)
	}
	foreign := run("", "export", "--format", "skills", "--dir", dir)
	if foreign.code != exitFailed || !strings.Contains(foreign.err, "was not written by an export") {
		t.Errorf("%+v", foreign)
	}
	for _, args := range [][]string{{"--format", "skills"}, {"--dir", dir},
		{"skill", "--format", "skills", "--dir", dir}} {
		if got := run("", append([]string{"export"}, args...)...); got.code != exitUsage {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

// TestExportSameNames checks that skills with one name do not overwrite each other.
func TestExportSameNames(t *testing.T) {
	t.Parallel()
	target := []string{"--url", shared(t), "--tenant", "samenames"}
	skills := `{"skill_id":"a.b_c"} {"skill_id":"a.b-c"} {"skill_id":"a.d"}`
	do(t, skills, append([]string{"apply", "-"}, target...)...).must(t)
	got := do(t, "", append([]string{"export", "--format", "skills", "--dir", t.TempDir()}, target...)...)
	if got.code != exitFailed || !strings.Contains(got.out, "exported 2 of 3") ||
		!strings.Contains(got.err, "have the same name, a-b-c") {
		t.Errorf("%+v", got)
	}
}

// TestExportReservedNames checks that no resource is written in place of a file of the export.
func TestExportReservedNames(t *testing.T) {
	t.Parallel()
	url := shared(t)
	for i, name := range []string{"SKILL.md", "references/cairn-package.json", ".env", "a/.git/config",
		"SKILL.md/a", "references/cairn-package.json/a"} {
		tenant := "reserved" + string(rune('a'+i))
		skill := `{"skill_id":"a.b","resources":[{"path":"` + name + `","text":"x"}]}`
		do(t, skill, "apply", "-", "--url", url, "--tenant", tenant).must(t)
		dir := t.TempDir()
		got := do(t, "", "export", "--format", "skills", "--dir", dir, "--url", url, "--tenant", tenant)
		if got.code != exitFailed || !strings.Contains(got.err, "rename the resource") {
			t.Errorf("%s: %+v", name, got)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("%s: a partial export: %v, %v", name, entries, err)
		}
	}
}
