package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/test/cairntest"
	"cairn/test/wait"
)

// minuteVariable enables the tests that inject faults, which take minutes.
const minuteVariable = "CAIRN_TEST_FAULTS"

func TestMain(m *testing.M) {
	if node := os.Getenv(natsVariable); node != "" {
		exit(serveNATS(node))
	}
	code := cairntest.Main(m)
	if plantedDirectory != "" {
		_ = os.RemoveAll(plantedDirectory) // in the directory for temporary files
	}
	os.Exit(code)
}

var plantedDirectory string // of the program that buildPlanted has built; empty before

// TestCrash crashes a stand-alone node at random times, and TestRealCrash does so for longer.
func TestCrash(t *testing.T) {
	checkReal(t, Options{Program: cairntest.Program(t), Crash: true, For: 10 * time.Second})
}

func TestRealCrash(t *testing.T) {
	checkReal(t, Options{Program: programFor(t), Crash: true, For: 45 * time.Second})
}

// TestRealClusterFaults checks that no invariant is violated under fault injection.
func TestRealClusterFaults(t *testing.T) {
	checkReal(t, Options{Program: programFor(t), Clocks: true, For: time.Minute})
}

// TestRealClockSkew is TestRealClusterFaults with skewed clocks.
func TestRealClockSkew(t *testing.T) {
	checkReal(t, Options{Program: programFor(t), Clocks: true, For: 40 * time.Second, Faults: "clock"})
}

// A node that was suspended for longer than an election takes starts again, so that it does not call elections.
func TestSuspendedNodeStartsAgain(t *testing.T) {
	t.Parallel()
	c, err := newCluster(cairntest.Program(t), t.TempDir(), "--model", "offline:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.close() })
	if err := c.run(0); err != nil {
		t.Fatal(err)
	}
	started := func() int {
		log, _ := os.ReadFile(c.procs[0].log)
		return strings.Count(string(log), "is waiting for a quorum")
	}
	wait.Until(t, "the node starts", func() bool { return started() == 1 })
	if err := suspended(t.Context(), c, []int{0}); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the node starts again", func() bool { return started() >= 2 }) // more often on a busy machine
}

// TestRealKills checks that kills of processes of separate roles violate no invariant. The
// percentage of failed requests depends on the load of the machine: the command checks it.
func TestRealKills(t *testing.T) {
	checkReal(t, Options{Program: programFor(t), Kills: true, For: 45 * time.Second})
}

func checkReal(t *testing.T, o Options) {
	t.Helper()
	t.Parallel()
	o.Clients = 9
	r := runReal(t, o)
	idle := r.Tags.Writes == 0 || r.Records.Writes == 0 || r.Registered == 0 || r.Analyses[Complete] == 0 && !o.Crash
	if !r.OK() || len(r.Faults) < 2 || idle {
		if r.Page != "" {
			kept, _ := os.CreateTemp("", "cairn-history-*.html")
			page, _ := os.ReadFile(r.Page)
			_, _ = kept.Write(page)
			t.Log("history that is not linearizable: " + kept.Name())
		}
		t.Errorf("tags linearizable: %s; violations: %q", r.Verdict, r.Violations)
	}
}

// programFor returns the program with skewable clocks and inactive planted bugs.
func programFor(t *testing.T) string {
	t.Helper()
	if os.Getenv(minuteVariable) == "" {
		t.Skip("set " + minuteVariable + "=1 for minutes of faults; make test-real does")
	}
	program, err := buildPlanted()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// buildPlanted builds the program once.
var buildPlanted = sync.OnceValues(func() (string, error) {
	clocks, err := clockChanges()
	bugs, failed := bugChanges()
	if err := errors.Join(err, failed); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "cairn-planted-")
	if err != nil {
		return "", err
	}
	plantedDirectory = dir
	program := filepath.Join(dir, "cairn")
	return program, cairntest.BuildChanged(program, append(clocks, bugs...))
})

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
