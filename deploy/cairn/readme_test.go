package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write the README's outputs and flags as they are now")

const readmePath = "../../README.md"

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(readmePath)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// settled compares the README with what it should be, or makes it so.
func settled(t *testing.T, is, should string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(readmePath, []byte(should), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(loose(is), loose(should)); diff != "" {
		t.Errorf("the README is not what happens (-README +now); look, then: go test ./deploy/cairn -run Readme -update\n%s", diff)
	}
}

// vague are the parts of outputs that differ from run to run.
var vague = []struct{ pattern, instead string }{
	{`\d+\.\d+ s\b`, "T s"},
	{`\b0\.\d{3}\b`, "0.SCORE"},
	{`\b[01]\.\d{4}\b`, "0.FIGURE"},
	{`\b\d+\.\d( ms\b| +)`, "MS "},
	{`"request_id":"\w+"`, `"request_id":"ID"`},
	{`(?m)^cairn( +)ok( +)\S+$`, "cairn ok VERSION"},
}

func loose(text string) []string {
	for _, v := range vague {
		text = regexp.MustCompile(v.pattern).ReplaceAllString(text, v.instead)
	}
	return strings.Split(text, "\n")
}

// The tests of the README follow each other: with -update, each writes it.
func TestReadme(t *testing.T) {
	t.Parallel()
	t.Run("Flags", readmeFlags)
	t.Run("Commands", readmeCommands)
}

func readmeFlags(t *testing.T) {
	is := readme(t)
	before, rest, ok := strings.Cut(is, "-update\" -->\n")
	_, after, ended := strings.Cut(rest, "<!-- end of flags -->")
	if !ok || !ended {
		t.Fatal("the README has no place for the flags")
	}
	settled(t, is, before+"-update\" -->\n"+flagTable()+"<!-- end of flags -->"+after)
}

// flagTable has a row for each flag of any command.
func flagTable() string {
	var rows []*flagRow
	for cmd := range below(newRoot(os.Getenv)) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			at := slices.IndexFunc(rows, func(r *flagRow) bool { return r.Name == f.Name && r.Value.Type() == f.Value.Type() })
			if at < 0 {
				at = len(rows)
				rows = append(rows, &flagRow{Flag: f})
			}
			rows[at].commands = append(rows[at].commands, strings.TrimPrefix(cmd.CommandPath(), "cairn "))
			rows[at].defaults = append(rows[at].defaults, f.DefValue)
		})
	}
	text := "| flag | variable | of | default | what |\n|---|---|---|---|---|\n"
	for _, r := range rows {
		text += r.String()
	}
	return text
}

// flagRow is a flag with the commands that have it.
type flagRow struct {
	*pflag.Flag
	commands, defaults []string
}

func (r *flagRow) String() string {
	value, usage := pflag.UnquoteUsage(r.Flag)
	usage = strings.TrimSuffix(usage, " ["+twin(r.Name)+"]")
	initial := code(r.DefValue)
	if slices.ContainsFunc(r.defaults, func(d string) bool { return d != r.DefValue }) {
		initial = ""
		for i, d := range r.defaults {
			initial += r.commands[i] + ": " + code(d) + " "
		}
	}
	cells := []string{code(strings.TrimSpace("--" + r.Name + " " + value)), code(twin(r.Name)), strings.Join(r.commands, " "), strings.TrimSpace(initial), usage}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

func readmeCommands(t *testing.T) {
	s := alone(t, "--model", "offline:")
	dir := clone(t)
	is := readme(t)
	ran := 0
	should := regexp.MustCompile("(?s)```console\n(.*?)```").ReplaceAllStringFunc(is, func(block string) string {
		text := "```console\n"
		for _, line := range strings.Split(block, "\n") {
			command, ok := strings.CutPrefix(line, "$ ")
			if !ok {
				continue
			}
			ran++
			text += line + "\n" + shell(t, dir, s, command)
		}
		return text + "```"
	})
	if ran < 8 {
		t.Errorf("the README has %d commands", ran)
	}
	settled(t, is, should)
	natsCommands(t, is)
}

// clone is a folder like a clone of the repository after "make build".
func clone(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\n%s=1 exec %q \"$@\"\n", asCairn, self)
	for _, err := range []error{
		os.Symlink(filepath.Join(root, "deploy"), filepath.Join(dir, "deploy")),
		os.Mkdir(filepath.Join(dir, "bin"), 0o755),
		os.WriteFile(filepath.Join(dir, "bin", "cairn"), []byte(script), 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// shell runs a command of the README against s.
func shell(t *testing.T, dir string, s *running, command string) string {
	t.Helper()
	name, _, _ := strings.Cut(command, " ")
	if _, err := exec.LookPath(filepath.Join(dir, name)); err != nil {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("the README's commands need %s", name)
		}
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(command, "127.0.0.1:8080", strings.TrimPrefix(s.http, "http://")))
	cmd.Dir = dir
	cmd.Env = append(program(context.Background()).Env, "CAIRN_URL="+s.http)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", command, err, out)
	}
	return strings.TrimRight(string(out), "\n") + "\n"
}
