package test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// top lists the files and directories at the root, except hidden ones.
var top = []string{"services", "bus", "schemas", "edge", "deploy", "test", "go.mod", "go.sum", "Makefile", "README.md"}

func TestRootFiles(t *testing.T) {
	t.Parallel()
	for _, file := range tracked(t) {
		name, _, _ := strings.Cut(file, "/")
		if !strings.HasPrefix(name, ".") && !slices.Contains(top, name) {
			t.Errorf("unexpected %s at the root, want only %v", name, top)
		}
	}
}

// tracked returns the files in git.
func tracked(t *testing.T) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Skip("needs git and a repository:  " + err.Error())
	}
	return strings.Fields(string(out))
}
