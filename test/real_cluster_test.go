package test

import (
	"os"
	"testing"
	"time"

	"cairn/deploy/faults"

	"cairn/test/cairntest"
)

// minuteVariable lets the minute of faults run.
const minuteVariable = "CAIRN_TEST_FAULTS"

// What clients of three machines are told is linearizable, and what was
// acknowledged is there, whatever becomes of one machine at a time.
func TestRealClusterFaults(t *testing.T) {
	if os.Getenv(minuteVariable) == "" {
		t.Skip("set " + minuteVariable + "=1 for a minute of faults; make test-real does")
	}
	program := cairntest.Program(t)
	r, err := faults.Run(t.Context(), faults.Options{Program: program, Dir: t.TempDir(), For: time.Minute, Clients: 9, Log: func(s string) { t.Log(s) }})
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
