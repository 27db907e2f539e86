package test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	maxFile     = 400 // lines of a Go file
	maxFunction = 60  // lines of a function; the tables of tests may be longer
)

// top is all that stands at the top of the tree, besides names that begin with a dot.
var top = []string{"services", "bus", "schemas", "edge", "deploy", "test", "go.mod", "go.sum", "Makefile", "README.md"}

func TestTopOfTheTree(t *testing.T) {
	t.Parallel()
	for _, file := range tracked(t) {
		name, _, _ := strings.Cut(file, "/")
		if !strings.HasPrefix(name, ".") && !slices.Contains(top, name) {
			t.Errorf("%s stands at the top; want only %v", name, top)
		}
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	files := 0
	for _, file := range tracked(t) {
		if filepath.Ext(file) != ".go" {
			continue
		}
		files++
		text, err := os.ReadFile(filepath.Join("..", file))
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text, []byte("\n")); n > maxFile {
			t.Errorf("%s has %d lines; want at most %d", file, n, maxFile)
		}
		if !strings.HasSuffix(file, "_test.go") {
			functions(t, file, text)
		}
	}
	if files == 0 {
		t.Error("found no Go file")
	}
}

// functions checks the length of each function of a file.
func functions(t *testing.T, file string, text []byte) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return
	}
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		if n := set.Position(f.End()).Line - set.Position(f.Pos()).Line; n > maxFunction {
			t.Errorf("%s: %s has %d lines; want at most %d", set.Position(f.Pos()), f.Name.Name, n, maxFunction)
		}
	}
}

// tracked are the files of the tree that git knows.
func tracked(t *testing.T) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Skip("needs git and a repository, which knows the files of the tree: " + err.Error())
	}
	return strings.Fields(string(out))
}
