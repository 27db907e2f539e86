package clients

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var notOfGenerated = regexp.MustCompile(`(?m)^tool .*$|^replace .*$|^\s*cairn v0.*$`)

// module writes a Go module with the dependencies of this one to a new directory. root is the
// directory of Cairn; empty: the module does not import it.
func module(t *testing.T, root string) string {
	t.Helper()
	directory := t.TempDir()
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	_, requirements, _ := strings.Cut(string(text), "\n") // without the name of the module
	mod := "module generated\n" + notOfGenerated.ReplaceAllString(requirements, "")
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	if root != "" {
		mod += "\nrequire cairn v0.0.0\n\nreplace cairn => " + root + "\n"
		own, err := os.ReadFile(filepath.Join(root, "go.sum"))
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, own...)
	}
	write(t, filepath.Join(directory, "go.mod"), []byte(mod))
	write(t, filepath.Join(directory, "go.sum"), sums)
	return directory
}

func TestRealGoClient(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	directory := module(t, root)
	manual(t, "Go", directory)
	analyzed(t, must(t, directory, append(s.env(), "GOFLAGS=-mod=mod"), "go", "run", "."), "clients.go")
}

func TestRealOapiCodegen(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	directory := module(t, "")
	copyFrom(t, "oapi-codegen", directory, "main.go")
	must(t, ".", nil, "go", "tool", "oapi-codegen", "-generate", "types,client", "-package", "main",
		"-o", filepath.Join(directory, "client.gen.go"), document(t, s.url, directory))
	must(t, directory, []string{"GOFLAGS=-mod=mod"}, "go", "vet", ".")
	analyzed(t, must(t, directory, append(s.env(), "GOFLAGS=-mod=mod"), "go", "run", "."), "clients.oapi")
}

func TestRealPython(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	directory, programs := python(t)
	document(t, s.url, directory)
	manual(t, "Python", directory)
	out := must(t, directory, nil, filepath.Join(programs, "openapi-python-client"), "generate", "--path", "openapi.json",
		"--meta", "none", "--output-path", "cairn_client", "--config", "config.yaml")
	// An image of the manual is the only response that the generator does not know.
	if warnings := strings.Count(out, "WARNING "); warnings > 1 || !strings.Contains(out, "GET /docs/images/{image}") {
		t.Errorf("the generator warns:\n%s", out)
	}
	must(t, directory, nil, filepath.Join(programs, "python"), "-m", "compileall", "-q", "cairn_client")
	analyzed(t, must(t, directory, s.env(), filepath.Join(programs, "python"), "main.py"), "clients.python")
}

func TestRealTypeScript(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	directory := node(t)
	manual(t, "TypeScript", directory)
	must(t, directory, nil, "npx", "--no-install", "openapi-typescript", document(t, s.url, directory),
		"-o", "cairn.d.ts", "--default-non-nullable", "false")
	must(t, directory, nil, "npx", "--no-install", "tsc")
	analyzed(t, must(t, directory, s.env(), "node", "main.js"), "clients.typescript")
}
