package main

import (
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

	"cairn/deploy/internal/flags"
	"cairn/test/wait"
)

var update = flag.Bool("update", false, "write the generated parts of README and manual")

// root is the directory of the repository, manual the directory of the documentation.
const (
	root   = "../../"
	manual = root + "edge/docs/"
)

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// compare compares a page with its generated form, or writes it with -update if they differ in more than the
// varying parts.
func compare(t *testing.T, path, got, want string) {
	t.Helper()
	diff := cmp.Diff(loose(want), loose(got))
	switch {
	case diff == "":
	case *update:
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is out of date; check, then run: go test ./deploy/cairn -run Manual -update (-want +got)\n%s", path,
			diff)
	}
}

// varying lists the parts of outputs that differ between runs, with their placeholders.
var varying = []struct{ pattern, instead string }{
	{`\d+\.\d+ s\b`, "T s"},
	{`\b[01]\.\d{4}\b`, "0.FIGURE"},
	{`\b\d+\.\d( ms\b| +)`, "MS "},
	{`\brevision \d+`, "revision N"},
	{`"request_id":"\w+"`, `"request_id":"ID"`},
	{`\d+ (created|configured|unchanged)(, \d+ (created|configured|unchanged))*`, "N WRITTEN"},
	{`(?m)^cairn( +)ok( +)\S+$`, "cairn ok VERSION"},
}

func loose(text string) []string {
	for _, v := range varying {
		text = regexp.MustCompile(v.pattern).ReplaceAllString(text, v.instead)
	}
	return strings.Split(text, "\n")
}

// TestManual checks all generated content of README and documentation.
func TestManual(t *testing.T) {
	t.Parallel()
	t.Run("Flags", func(t *testing.T) { checkTable(t, manual+"configuration.md", "flags", flagTable()) })
	t.Run("Commands", func(t *testing.T) { checkTable(t, manual+"cli.md", "commands", commandTable()) })
	t.Run("Permissions", func(t *testing.T) {
		checkTable(t, manual+"nats-permissions.md", "permissions", permissionTables())
	})
	t.Run("Outputs", checkOutputs)
	t.Run("NATS", func(t *testing.T) { natsCommands(t, readFile(t, manual+"nats-api.md")) })
}

// checkTable checks the section of a page between the markers of name.
func checkTable(t *testing.T, path, name, want string) {
	got := readFile(t, path)
	begin, end := "<!-- "+name+": go test ./deploy/cairn -run Manual -update -->\n", "<!-- end of "+name+" -->"
	before, rest, ok := strings.Cut(got, begin)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("%s has no markers for %s", path, name)
	}
	compare(t, path, got, before+begin+want+end+after)
}

// commandTable returns a table with a row for each command.
func commandTable() string {
	table := "| command | purpose |\n|---|---|\n"
	for _, cmd := range below(newRoot(os.Getenv)) {
		if cmd.Runnable() && !cmd.Hidden {
			table += "| `" + strings.ReplaceAll(cmd.UseLine(), "|", `\|`) + "` | " + cmd.Short + " |\n"
		}
	}
	return table
}

// flagTable returns a table with a row for each flag.
func flagTable() string {
	var rows []*flagRow
	for _, cmd := range below(newRoot(os.Getenv)) {
		if flags.IsLiteral(cmd) {
			continue // without variables
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			index := slices.IndexFunc(rows, func(r *flagRow) bool {
				return r.Name == f.Name && r.Value.Type() == f.Value.Type() && r.Usage == f.Usage
			})
			if index < 0 {
				index = len(rows)
				rows = append(rows, &flagRow{Flag: f})
			}
			rows[index].commands = append(rows[index].commands, strings.TrimPrefix(cmd.CommandPath(), "cairn "))
			rows[index].defaults = append(rows[index].defaults, f.DefValue)
		})
	}
	text := "| flag | variable | commands | default | meaning |\n|---|---|---|---|---|\n"
	for _, r := range rows {
		text += r.String()
	}
	return text
}

// flagRow is a flag with the commands that define it.
type flagRow struct {
	*pflag.Flag
	commands, defaults []string
}

func (r *flagRow) String() string {
	value, usage := pflag.UnquoteUsage(r.Flag)
	usage = strings.TrimSuffix(usage, " ["+flags.Variable(r.Name)+"]")
	initial := code(r.DefValue)
	if slices.ContainsFunc(r.defaults, func(d string) bool { return d != r.DefValue }) {
		initial = ""
		for i, d := range r.defaults {
			initial += r.commands[i] + ": " + code(d) + " "
		}
	}
	cells := []string{code(strings.TrimSpace("--" + r.Name + " " + value)), code(flags.Variable(r.Name)),
		strings.Join(r.commands, " "), strings.TrimSpace(initial), usage}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// checkOutputs runs the commands in the console blocks of README and documentation in
// order, twice, which checks that the examples are repeatable.
func checkOutputs(t *testing.T) {
	s := startIsolated(t, "--model", "offline:")
	dir := clone(t)
	for range 2 {
		ran := 0
		for _, path := range []string{root + "README.md", manual + "cli.md", manual + "retrieval.md", manual + "import.md",
			manual + "a2a.md", manual + "estates.md", manual + "exports.md"} {
			got := readFile(t, path)
			want := regexp.MustCompile("(?s)```console\n(.*?)```").ReplaceAllStringFunc(got, func(block string) string {
				text := "```console\n"
				for _, line := range strings.Split(block, "\n") {
					command, ok := strings.CutPrefix(line, "$ ")
					if !ok {
						continue
					}
					ran++
					if strings.HasSuffix(command, "cairn status") { // the health is cached: an apply before may be missing in it
						wait.Until(t, "the health has the revision", func() bool {
							return strings.Contains(shell(t, dir, s, command), "revision")
						})
					}
					text += line + "\n" + shell(t, dir, s, command)
				}
				return text + "```"
			})
			compare(t, path, got, want)
		}
		if ran < 8 {
			t.Errorf("README and manual have %d commands", ran)
		}
	}
}

// clone returns a directory like a clone of the repository after "make build".
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

// shell runs a command of a page against s and returns its output, with a newline at the end unless it is empty.
func shell(t *testing.T, dir string, s *running, command string) string {
	t.Helper()
	name, _, _ := strings.Cut(command, " ")
	if _, err := exec.LookPath(filepath.Join(dir, name)); err != nil {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("the commands of the manual need %s", name)
		}
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c",
		strings.ReplaceAll(command, "127.0.0.1:8080", strings.TrimPrefix(s.http, "http://")))
	cmd.Dir = dir
	cmd.Env = append(program().Env, "CAIRN_URL="+s.http)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", command, err, out)
	}
	if len(out) == 0 {
		return ""
	}
	return strings.TrimRight(string(out), "\n") + "\n"
}
