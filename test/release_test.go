package test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// verification is the command in the manual that verifies a release.
var verification = regexp.MustCompile(`(?m)^ssh-keygen -Y verify .*$`)

// TestRealRelease builds a release, signs it with a throw-away key, and verifies it in the way that the manual
// describes: as it is, and after a change of each file.
func TestRealRelease(t *testing.T) {
	if os.Getenv("CAIRN_TEST_LONG") == "" {
		t.Skip("needs CAIRN_TEST_LONG=1: it builds the program twice")
	}
	t.Parallel()
	manual, err := os.ReadFile("../edge/docs/operations.md")
	must(t, err)
	verify := verification.FindString(string(manual))
	if verify == "" {
		t.Fatal("the manual has no command that verifies a release")
	}
	dir, release := t.TempDir(), t.TempDir()
	key := filepath.Join(dir, "key")
	if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
		key).CombinedOutput(); err != nil {
		t.Skipf("needs ssh-keygen: %v, %s", err, out)
	}
	vulnerabilities := filepath.Join(dir, "vulnerabilities")
	write(t, filepath.Join(vulnerabilities, "index/modules.json"), "[]")
	write(t, filepath.Join(vulnerabilities, "index/db.json"), `{"modified":"2026-01-01T00:00:00Z"}`)
	built := exec.CommandContext(t.Context(), "make", "-C", "..", "release", "VERSION=1.2.3", "RELEASE_KEY="+key,
		"RELEASE_DIR="+release)
	built.Env = append(os.Environ(), "GOVULNDB=file://"+vulnerabilities)
	if out, err := built.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	program := filepath.Join(release, "cairn-1.2.3-"+runtime.GOOS+"-"+runtime.GOARCH)
	if out, err := exec.CommandContext(t.Context(), program, "version").CombinedOutput(); err != nil ||
		!strings.Contains(string(out), "1.2.3") {
		t.Errorf("cairn version: %v, %s", err, out)
	}
	checkMaterials(t, program+".cdx.json")
	if report := read(t, program+".govulncheck.txt"); !strings.Contains(report, "No vulnerabilities found") {
		t.Errorf("the report of govulncheck is %s", report)
	}
	public := strings.Fields(read(t, key+".pub"))
	write(t, filepath.Join(release, "allowed_signers"), "releases "+public[0]+" "+public[1]+"\n")
	verified := func() (string, error) {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", verify)
		cmd.Dir = release
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := verified(); err != nil {
		t.Errorf("%s: %v, %s", verify, err, out)
	}
	for _, file := range []string{program, program + ".cdx.json", filepath.Join(release, "SHA256SUMS")} {
		before := read(t, file)
		write(t, file, before+"\n")
		if out, err := verified(); err == nil {
			t.Errorf("%s has changed, but is accepted: %s", file, out)
		}
		write(t, file, before)
	}
}

// checkMaterials checks that the bill of materials has the version of the program, and of its modules.
func checkMaterials(t *testing.T, file string) {
	t.Helper()
	var bill struct {
		Metadata struct {
			Component struct{ Name, Version string }
		}
		Components []struct{ Name, Version string }
	}
	must(t, json.Unmarshal([]byte(read(t, file)), &bill))
	if bill.Metadata.Component.Version != "v1.2.3" {
		t.Errorf("the bill of materials is that of %+v", bill.Metadata.Component)
	}
	modules := read(t, "../go.mod")
	for _, name := range []string{"github.com/nats-io/nats-server/v2", "github.com/blevesearch/bleve/v2"} {
		listed := false
		for _, component := range bill.Components {
			listed = listed || component.Name == name && strings.Contains(modules, name+" "+component.Version+"\n")
		}
		if !listed {
			t.Errorf("the bill of materials lacks %s in the version of go.mod", name)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	return string(text)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	must(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o755)))
}
