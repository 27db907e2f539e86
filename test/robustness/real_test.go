package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"cairn/test/cairntest"
)

// minuteVariable enables the tests that inject faults, which take minutes.
const minuteVariable = "CAIRN_TEST_FAULTS"

func TestMain(m *testing.M) { os.Exit(cairntest.Main(m)) }

// TestRealClusterFaults checks that no invariant is violated under fault injection.
func TestRealClusterFaults(t *testing.T) {
	r := runReal(t, Options{Program: programFor(t), For: time.Minute, Clients: 9})
	if !r.OK() || len(r.Faults) < 2 || r.Tags.Writes == 0 || r.Records.Writes == 0 || r.Registered == 0 || r.Analyses[Complete] == 0 {
		if r.Page != "" {
			kept, _ := os.CreateTemp("", "cairn-history-*.html")
			page, _ := os.ReadFile(r.Page)
			_, _ = kept.Write(page)
			t.Log("history that is not linearizable: " + kept.Name())
		}
		t.Errorf("tags linearizable: %s; violations: %q", r.Verdict, r.Violations)
	}
}

// TestRealStaleLeaderIsFound plants a bug in the program: a server that considers itself the
// leader answers reads without a fence, also after another one was elected.
func TestRealStaleLeaderIsFound(t *testing.T) {
	programFor(t)
	planted := plant(t, "bus/bucket/read.go", "\tif r.alone() {\n\t\treturn r.Leader(", "\tif true {\n\t\treturn r.Leader(")
	for range staleRuns {
		r := runReal(t, Options{Program: planted, For: 20 * time.Second, Clients: 9, Faults: "network partition of .*leader, for"})
		if r.Verdict == porcupine.Illegal {
			return
		}
	}
	t.Errorf("%d runs found no stale read", staleRuns)
}

// staleRuns is the maximum number of runs with the planted bug. Whether a run reads a stale
// value depends on the timing of its clients and of the elections.
const staleRuns = 5

func programFor(t *testing.T) string {
	t.Helper()
	if os.Getenv(minuteVariable) == "" {
		t.Skip("set " + minuteVariable + "=1 for minutes of faults; make test-real does")
	}
	return cairntest.Program(t)
}

func runReal(t *testing.T, o Options) Result {
	t.Helper()
	o.Dir, o.Log = t.TempDir(), func(line string) { t.Log(line) }
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r)
	return r
}

// plant builds the program with a text of a file of the main module replaced.
func plant(t *testing.T, file, before, after string) (program string) {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "cairn").Output()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(strings.TrimSpace(string(root)), file)
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), before) != 1 {
		t.Fatalf("%s does not contain %q once (%v): plant the bug elsewhere", file, before, err)
	}
	planted, overlay := filepath.Join(t.TempDir(), "planted.go"), filepath.Join(t.TempDir(), "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {path: planted}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{planted: strings.Replace(string(text), before, after, 1), overlay: string(replace)} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program = filepath.Join(t.TempDir(), "cairn")
	if err := cairntest.BuildTo(program, "-overlay", overlay); err != nil {
		t.Fatal(err)
	}
	return program
}
