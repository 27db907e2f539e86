// Package wait lets a test wait for a condition that no channel or call announces.
package wait

import (
	"fmt"
	"testing"
	"time"
)

// Timeout is the longest time that a test waits for a condition, on a busy machine. It is
// shorter than the analysis timeout, which would hide a missing cancellation.
const Timeout = 90 * time.Second

const interval = 10 * time.Millisecond // between two calls

// Until polls cond until it returns true, and ends the test after 90 s. The sentence names
// the condition.
func Until(t testing.TB, sentence string, cond func() bool) {
	t.Helper()
	Success(t, func() error {
		if cond() {
			return nil
		}
		return fmt.Errorf("not true: %s", sentence)
	})
}

// Success calls do until it returns no error, and ends the test with the last error after 90 s.
func Success(t testing.TB, do func() error) {
	t.Helper()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for deadline := time.Now().Add(Timeout); ; <-tick.C {
		err := do()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s: %v", Timeout, err)
		}
	}
}
