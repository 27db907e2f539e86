package main

import (
	"go/parser"
	"go/token"
	"testing"

	"cairn/test/cairntest"
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
	files, err := cairntest.Overlay(t.TempDir(), append(bugs, clocks...))
	if err != nil {
		t.Fatal(err)
	}
	for file, changed := range files {
		if _, err := parser.ParseFile(token.NewFileSet(), changed, nil, 0); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
