package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cairn/test/cairntest"
)

// TestUpgradeSurvivesCrash starts on the data of a release that stored tags in persist mode "async"
// (testdata/async-tags.tar.gz), kills the process twice with SIGKILL, and compares tags, records and keys.
func TestUpgradeSurvivesCrash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archive := filepath.Join("testdata", "async-tags.tar.gz")
	if out, err := exec.Command("tar", "xzf", archive, "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for range 3 {
		p, address := reached(t, "--data", dir, "--embed", "lexical:", "--storage-limit", "64")
		for _, row := range []struct{ path, want string }{
			{"/tags/t1", `"v":1`}, {"/tags/t2", `"v":2`}, {"/tags/t3", "CE-022"},
			{"/records/tool/fx.a.t1", "tool 1 again"}, {"/records/tool/fx.a.t2", "tool 2"},
		} {
			if _, got := cairntest.Request(t, "GET", p.http+row.path, ""); !strings.Contains(got, row.want) {
				t.Errorf("%s: got %s, want %s", row.path, got, row.want)
			}
		}
		if keys := do(t, "", "key", "list", "--nats", address); !strings.Contains(keys.out, "fixture") {
			t.Errorf("the keys are %+v, want that of the fixture", keys)
		}
		p.Kill()
	}
}
