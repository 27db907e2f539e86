//go:build race

package estate_test

import (
	"os/exec"
	"testing"
)

// TestStatsAgainstSQLite runs the test of that name without the race detector,
// which slows the database down by a factor of 30; the test has nothing for it
// to find.
func TestStatsAgainstSQLite(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "test", "-run", "^"+t.Name()+"$", ".").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
