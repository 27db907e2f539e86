package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// TestMethodsAreInOneFile checks that the methods of a type are in the file that declares it.
func TestMethodsAreInOneFile(t *testing.T) {
	t.Parallel()
	declared, methods := map[string]string{}, map[string]map[string]bool{}
	for _, path := range tracked(t) {
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/testdata/") {
			continue
		}
		for name, owner := range declarations(t, path) {
			typ := filepath.Dir(path) + "." + name
			if owner == "" {
				declared[typ] = path
				continue
			}
			typ = filepath.Dir(path) + "." + owner
			if methods[typ] == nil {
				methods[typ] = map[string]bool{}
			}
			methods[typ][path] = true
		}
	}
	for typ, files := range methods {
		for file := range files {
			if file != declared[typ] {
				t.Errorf("%s has methods of %s, which is declared in %s", file, typ, declared[typ])
			}
		}
	}
}

var (
	// namedFile is a file or directory in the documentation, and the declarations after it, in
	// parentheses or after a comma.
	namedFile = regexp.MustCompile("`([\\w./-]+)`(?:( \\(|, )((?:`\\w+`(?:, | and )?)+))?")
	// inBackticks is one of these declarations.
	inBackticks = regexp.MustCompile("`(\\w+)`")
)

// TestArchitectureNamesExist finds the files that edge/docs/architecture.md names, and the
// declarations after them. A file name without a directory is in the last one named in its line.
func TestArchitectureNamesExist(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../edge/docs/architecture.md")
	must(t, err)
	files, count := tracked(t), 0
	for line := range strings.Lines(string(text)) {
		directory := ""
		for _, m := range namedFile.FindAllStringSubmatch(line, -1) {
			name := m[1]
			if !strings.Contains(name, "/") {
				name = directory + "/" + name
			}
			matches := slices.DeleteFunc(slices.Clone(files), func(f string) bool {
				return f != name && filepath.Dir(f) != name
			})
			switch {
			case len(matches) == 0 && strings.HasSuffix(name, ".go"):
				t.Errorf("no file %s: %s", name, line)
				continue
			case len(matches) == 0:
				continue // not a file
			}
			if directory = name; matches[0] == name {
				directory = filepath.Dir(name)
			}
			if m[2] == ", " && directory == name {
				continue // a list of directories
			}
			for _, symbol := range inBackticks.FindAllStringSubmatch(m[3], -1) {
				count++
				if !slices.ContainsFunc(matches, func(f string) bool { return declares(t, f, symbol[1]) }) {
					t.Errorf("%s declares no %s: %s", name, symbol[1], line)
				}
			}
		}
	}
	if count < 50 {
		t.Errorf("found %d names of declarations, want at least 50", count)
	}
}

func declares(t *testing.T, file, name string) bool {
	if !strings.HasSuffix(file, ".go") {
		return false
	}
	for declared := range declarations(t, file) {
		if declared == name || strings.HasSuffix(declared, "."+name) {
			return true
		}
	}
	return false
}

// declarations returns the names that a file declares at package level, and Type.Method for methods, with their types.
func declarations(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", path), nil, parser.SkipObjectResolution)
	must(t, err)
	names := map[string]string{}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names[d.Name.Name] = ""
				continue
			}
			owner := receiver(d.Recv.List[0].Type)
			names[owner+"."+d.Name.Name] = owner
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					names[s.Name.Name] = ""
				case *ast.ValueSpec:
					for _, n := range s.Names {
						names[n.Name] = ""
					}
				}
			}
		}
	}
	return names
}

// receiver returns the name of a receiver's type.
func receiver(typ ast.Expr) string {
	for {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.IndexListExpr:
			typ = t.X
		default:
			return typ.(*ast.Ident).Name
		}
	}
}

// prepositions are words that name no value.
var prepositions = []string{"of", "at", "is", "by", "one", "more", "found", "known"}

// TestNamesAreNouns finds variables, constants, parameters, results and fields that are named by a preposition.
func TestNamesAreNouns(t *testing.T) {
	t.Parallel()
	files := token.NewFileSet()
	for _, path := range tracked(t) {
		if !strings.HasSuffix(path, ".go") {
			continue
		}
		file, err := parser.ParseFile(files, filepath.Join("..", path), nil, parser.SkipObjectResolution)
		must(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			for _, name := range defined(n) {
				if slices.Contains(prepositions, name.Name) {
					t.Errorf("%s: %s is not a noun", files.Position(name.Pos()), name.Name)
				}
			}
			return true
		})
	}
}

// defined returns the names of values that a node defines.
func defined(n ast.Node) (names []*ast.Ident) {
	var list []ast.Expr
	switch n := n.(type) {
	case *ast.Field: // also of receivers, parameters and results
		return n.Names
	case *ast.ValueSpec:
		return n.Names
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE {
			list = n.Lhs
		}
	case *ast.RangeStmt:
		if n.Tok == token.DEFINE {
			list = []ast.Expr{n.Key, n.Value}
		}
	}
	for _, e := range list {
		if name, ok := e.(*ast.Ident); ok {
			names = append(names, name)
		}
	}
	return names
}
