package main

import (
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
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
	natsAddress := regexp.MustCompile(`nats://[0-9.:]+`)
	for range 3 {
		p := serve(t, "up", "--http", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0", "--data", dir, "--model", "offline:",
			"--embed", "lexical:", "--storage-limit", "64")
		for _, row := range []struct{ path, want string }{
			{"/tags/t1", `"v":1`}, {"/tags/t2", `"v":2`}, {"/tags/t3", "CE-022"},
			{"/records/tool/fx.a.t1", "tool 1 again"}, {"/records/tool/fx.a.t2", "tool 2"},
		} {
			if got := body(t, p.http+row.path); !strings.Contains(got, row.want) {
				t.Errorf("%s: got %s, want %s", row.path, got, row.want)
			}
		}
		address := natsAddress.FindString(p.out.String())
		if keys := do(t, "", "key", "list", "--nats", address); !strings.Contains(keys.out, "fixture") {
			t.Errorf("the keys are %+v, want that of the fixture", keys)
		}
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		p.waitExit(t)
	}
}

// body returns the body of a GET request.
func body(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
