package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"testing"
)

// The texts that the planted bugs and the clocks replace exist once, and the results are Go
// files.
func TestPlantedBugsApply(t *testing.T) {
	t.Parallel()
	bugs, err := bugChanges()
	if err != nil {
		t.Fatal(err)
	}
	clocks, err := clockChanges()
	if err != nil {
		t.Fatal(err)
	}
	files, err := overlay(t.TempDir(), append(bugs, clocks...))
	if err != nil {
		t.Fatalf("%v: the source has changed; change the replaced text, too", err)
	}
	for file, changed := range files {
		if _, err := parser.ParseFile(token.NewFileSet(), changed, nil, 0); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestOverlay(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.go")
	if err := os.WriteFile(file, []byte("one two two three"), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := overlay(t.TempDir(), []change{{file, "one", "1"}, {file + "new", "", "new"}, {file, "three", "3"}})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{files[file]: "1 two two 3", files[file+"new"]: "new",
		file: "one two two three"} {
		if got, err := os.ReadFile(path); string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", path, got, err, want)
		}
	}
	for _, absent := range []string{"four", "two"} { // two is ambiguous
		if _, err := overlay(t.TempDir(), []change{{file, absent, ""}}); err == nil {
			t.Errorf("a change of %q succeeds", absent)
		}
	}
}
