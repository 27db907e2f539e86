package test

import (
	"os"
	"testing"
	"time"

	"cairn/deploy/faults"

	"cairn/test/cairntest"
)

// minuteVariable enables TestRealClusterFaults, which takes a minute.
const minuteVariable = "CAIRN_TEST_FAULTS"

// TestRealClusterFaults injects faults into one node of three at a time: the
// history is linearizable, and no acknowledged write is lost.
func TestRealClusterFaults(t *testing.T) {
	if os.Getenv(minuteVariable) == "" {
		t.Skip("set " + minuteVariable + "=1 for a minute of faults; make test-real does")
	}
	program := cairntest.Program(t)
	r, err := faults.Run(t.Context(), faults.Options{Program: program, Dir: t.TempDir(), For: time.Minute, Clients: 9,
		Log: func(s string) { t.Log(s) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r)
	if !r.OK() || len(r.Faults) < 4 || r.Writes == 0 || r.Reads == 0 || r.Registers == 0 {
		if r.Page != "" {
			kept, _ := os.CreateTemp("", "cairn-history-*.html")
			page, _ := os.ReadFile(r.Page)
			_, _ = kept.Write(page)
			t.Log("what was not linearizable: " + kept.Name())
		}
		t.Errorf("verdict %s, %d registrations lost", r.Verdict, len(r.Lost))
	}
}
