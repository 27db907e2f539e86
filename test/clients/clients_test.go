// Package clients generates clients from the OpenAPI document, runs them and the programs of
// the manual against a server, and checks the document and the server with linters and a
// fuzzer. The tools are installed from the registries of npm and PyPI, in the versions of
// testdata.
package clients

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/oapi-codegen/runtime" // of generated clients

	"cairn/test/cairntest"
)

// clientsVariable enables the tests, which install tools and take minutes.
const clientsVariable = "CAIRN_TEST_CLIENTS"

// installed is the directory of the tools.
var installed string

func TestMain(m *testing.M) { os.Exit(runAll(m)) }

func runAll(m *testing.M) int {
	var err error
	if installed, err = os.MkdirTemp("", "cairn-clients-"); err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(installed) }()
	return cairntest.Main(m)
}

// server is a running Cairn that requires API keys.
type server struct{ url, key string }

func newServer(t *testing.T) server {
	t.Helper()
	if os.Getenv(clientsVariable) == "" {
		t.Skip("set " + clientsVariable + "=1 to generate and run clients")
	}
	p := cairntest.Up(t, "--data", "", "--auth", "keys")
	return server{p.URL(), cairntest.CreateKey(t, p.NATS(), "--role", "admin", "--all-tenants")}
}

// document writes the OpenAPI document of the server at url to the directory and returns its path.
func document(t *testing.T, url, directory string) string {
	t.Helper()
	status, text := cairntest.Get(t, url+"/openapi.json")
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	path := filepath.Join(directory, "openapi.json")
	write(t, path, []byte(text))
	return path
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// copyFrom copies files of testdata to the directory.
func copyFrom(t *testing.T, from, directory string, names ...string) {
	t.Helper()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join("testdata", from, name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(directory, name), text)
	}
}

// run runs a command in the directory and returns its output.
func run(t *testing.T, directory string, env []string, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = directory
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// must is run for a command that must succeed.
func must(t *testing.T, directory string, env []string, name string, args ...string) string {
	t.Helper()
	out, err := run(t, directory, env, name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

func (s server) env() []string { return []string{"CAIRN_URL=" + s.url, "CAIRN_KEY=" + s.key} }

// offline matches the output of npm and pip without a connection to the registry.
var offline = regexp.MustCompile(
	`ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|NewConnectionError|Name or service not known|name resolution`)

// errUnavailable means that the tools cannot be installed here.
var errUnavailable = errors.New("the tools cannot be installed")

// install runs a command that installs packages. The error is errUnavailable if the program is
// missing or the registry cannot be reached.
func install(directory, name string, args ...string) error {
	if _, err := exec.LookPath(name); err != nil {
		return fmt.Errorf("%w: %w", errUnavailable, err)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = directory
	switch out, err := cmd.CombinedOutput(); {
	case err != nil && offline.Match(out):
		return fmt.Errorf("%w: no connection to the registry: %s", errUnavailable, out)
	case err != nil:
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// The packages are installed once, in directories that TestMain removes.
var (
	nodePackages = sync.OnceValues(func() (string, error) {
		directory := filepath.Join(installed, "node")
		if err := os.CopyFS(directory, os.DirFS("testdata/node")); err != nil {
			return "", err
		}
		return directory, install(directory, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	})
	pythonPackages = sync.OnceValues(func() (string, error) {
		directory := filepath.Join(installed, "python")
		if err := os.CopyFS(directory, os.DirFS("testdata/python")); err != nil {
			return "", err
		}
		err := install(directory, "python3", "-m", "venv", "venv")
		if err == nil {
			err = install(directory, filepath.Join(directory, "venv", "bin", "pip"), "install", "--quiet",
				"--disable-pip-version-check",
				"-r", "requirements.txt")
		}
		return directory, err
	})
)

// below returns a new directory below the one with the packages, and the latter. It skips the
// test if they cannot be installed.
func below(t *testing.T, packages func() (string, error)) (directory, root string) {
	t.Helper()
	root, err := packages()
	if errors.Is(err, errUnavailable) {
		t.Skip(err)
	}
	if err == nil {
		directory, err = os.MkdirTemp(root, "test-")
	}
	if err != nil {
		t.Fatal(err)
	}
	return directory, root
}

// node returns a directory below the packages of npm.
func node(t *testing.T) string {
	t.Helper()
	directory, _ := below(t, nodePackages)
	return directory
}

// python returns the working directory, and the bin directory of the virtual environment.
func python(t *testing.T) (directory, programs string) {
	t.Helper()
	directory, root := below(t, pythonPackages)
	return directory, filepath.Join(root, "venv", "bin")
}

// analyzed checks the output of a program of the manual: a skill was resolved, and an analysis
// streamed to its end.
func analyzed(t *testing.T, out, skill string) {
	t.Helper()
	for _, want := range []string{"resolved " + skill + "\n", "tool_use", "tool_result", "Bergen", "text_delta", "done"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output has no %q:\n%s", want, out)
		}
	}
}

var block = regexp.MustCompile("(?s)```[a-z]+\n(?://|#) ([a-z.]+)\n(.*?)```")

// manual writes the files of a section of the manual's page to the directory. The first line
// of such a block of code has the name of the file.
func manual(t *testing.T, section, directory string) {
	t.Helper()
	page, err := os.ReadFile("../../edge/docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	files := block.FindAllStringSubmatch(text, -1)
	if len(files) == 0 {
		t.Fatalf("the manual has no program in the section %s", section)
	}
	for _, f := range files {
		write(t, filepath.Join(directory, f[1]), []byte(f[2]))
	}
}
