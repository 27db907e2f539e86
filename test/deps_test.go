package test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// module is the import path prefix of this module's packages.
const module = "cairn/"

// packageRules lists which packages of this module a package may import. The
// first rule whose directory contains the package applies. Test files are exempt.
var packageRules = []binding{
	{"schemas/member imports no package of this module", "schemas/member", nil},
	{"schemas/skillfile imports schemas only", "schemas/skillfile", []string{"schemas"}},
	{"schemas imports schemas/member only", "schemas", []string{"schemas/member"}},
	{"bus/bustest imports bus and test/wait only", "bus/bustest", []string{"bus", "test/wait"}},
	{"bus/backup imports schemas and bus only", "bus/backup", []string{"schemas", "bus"}},
	{"bus/members imports bus only", "bus/members", []string{"bus"}},
	{"bus/natsserver imports bus only", "bus/natsserver", []string{"bus"}},
	{"bus/keys imports schemas and bus only", "bus/keys", []string{"schemas", "bus"}},
	{"bus/audit imports schemas, bus/admission, bus/bucket and bus/retry only", "bus/audit",
		[]string{"schemas", "bus/admission", "bus/bucket", "bus/retry"}},
	{"bus/telemetry imports no package of this module", "bus/telemetry", nil},
	{"bus/certificate imports no package of this module", "bus/certificate", nil},
	{"bus/admission imports no other package of this module", "bus/admission", nil},
	{"bus/retry imports no package of this module", "bus/retry", nil},
	{"bus/bucket imports schemas and bus/retry only", "bus/bucket", []string{"schemas", "bus/retry"}},
	{"bus/replay imports schemas, bus/admission, bus/bucket and bus/retry only", "bus/replay",
		[]string{"schemas", "bus/admission", "bus/bucket", "bus/retry"}},
	{"bus imports schemas and its subpackages only", "bus", []string{"schemas", "bus/telemetry", "bus/bucket",
		"bus/admission", "bus/replay", "bus/retry"}},
	{"the Model Context Protocol is translated to the bus and nothing more", "edge/mcp", []string{"schemas", "bus"}},
	{"the Agent2Agent protocol is translated to the bus and nothing more", "edge/a2a", []string{"schemas", "bus"}},
	{"watches are translated to the bus and nothing more", "edge/watch", []string{"schemas", "bus"}},
	{"the API of MCP registries is translated to the bus and nothing more", "edge/registry", []string{"schemas"}},
	{"Agentic Resource Discovery is translated to the bus and nothing more", "edge/ard", []string{"schemas"}},
	{"the description of the interfaces imports schemas, bus and the manual only", "edge/describe",
		[]string{"schemas", "bus", "edge/docs"}},
	{"the web console is files and nothing more", "edge/console", nil},
	{"the Go client imports schemas only", "edge/client", []string{"schemas"}},
	{"the edge imports no backend and no service", "edge", []string{"schemas", "bus", "edge"}},
	{"services/internal/breaker imports bus/telemetry only", "services/internal/breaker", []string{"bus/telemetry"}},
	{"services/internal/scope imports only schemas", "services/internal/scope", []string{"schemas"}},
	{"services/internal/watermark imports no package of this module", "services/internal/watermark", nil},
	{"services/internal imports no service", "services/internal",
		[]string{"schemas", "bus", "services/internal", "test/wait"}},
	{"a service imports no other service", "services/tags", []string{"schemas", "bus", "services/internal"}},
	{"a service imports no other service", "services/register", []string{"schemas", "bus", "services/internal"}},
	{"a service imports no other service", "services/resolve", []string{"schemas", "bus", "services/internal"}},
	{"a service imports no other service", "services/analyze", []string{"schemas", "bus", "services/internal"}},
	{"a service imports no other service", "services/render", []string{"schemas", "bus", "services/internal"}},
	{"only services imports all services", "services", []string{"schemas", "bus", "services"}},
	{"deploy/load imports no package of this module", "deploy/load", nil},
	{"deploy/internal/output imports no package of this module", "deploy/internal/output", nil},
	{"deploy/internal/flags imports schemas only", "deploy/internal/flags", []string{"schemas"}},
	{"deploy/internal/connect imports schemas, bus, the client, flags and output only", "deploy/internal/connect",
		[]string{"schemas", "bus", "edge/client", "deploy/internal/flags", "deploy/internal/output"}},
	{"deploy/internal/records imports schemas, the client, connections, flags and output only", "deploy/internal/records",
		[]string{"schemas", "edge/client", "deploy/internal/connect", "deploy/internal/flags", "deploy/internal/output"}},
	{"deploy/internal/estatefile imports schemas, connections and flags only", "deploy/internal/estatefile",
		[]string{"schemas", "deploy/internal/connect", "deploy/internal/flags"}},
	{"deploy/internal/importer imports schemas, the client, connections, flags and records only",
		"deploy/internal/importer",
		[]string{"schemas", "edge/client", "deploy/internal/connect", "deploy/internal/flags", "deploy/internal/records"}},
	{"deploy/internal/server imports no command", "deploy/internal/server",
		[]string{"schemas", "bus", "edge", "services", "deploy/internal/connect",
			"deploy/internal/flags", "deploy/internal/output"}},
	{"a command imports no other command", "deploy/internal/contexts",
		[]string{"edge/client", "deploy/internal/flags", "deploy/internal/output"}},
	{"a command imports no other command", "deploy/internal/operations",
		[]string{"schemas", "edge/client", "deploy/internal/connect", "deploy/internal/flags", "deploy/internal/output",
			"deploy/internal/records", "bus"}},
	{"a command imports no other command", "deploy/internal/doctor",
		[]string{"schemas", "edge/client", "deploy/internal/connect", "deploy/internal/flags", "deploy/internal/output",
			"bus", "services"}},
	{"a command imports no other command", "deploy/internal/knowledge",
		[]string{"schemas", "edge/client", "deploy/internal/connect", "deploy/internal/flags", "deploy/internal/output",
			"deploy/internal/records", "deploy/internal/importer", "services"}},
	{"a command imports no other command", "deploy/internal/query",
		[]string{"schemas", "edge/client", "deploy/internal/connect", "deploy/internal/flags", "deploy/internal/output",
			"deploy/internal/records"}},
	{"a command imports no other command", "deploy/internal/ask",
		[]string{"schemas", "edge/client", "deploy/internal/connect", "deploy/internal/estatefile", "deploy/internal/flags",
			"deploy/internal/output"}},
	{"a command imports no other command", "deploy/internal/stdio",
		[]string{"schemas", "edge/client", "deploy/internal/connect", "deploy/internal/flags", "deploy/internal/output"}},
	{"a command imports no other command", "deploy/internal/eval",
		[]string{"schemas", "edge/client", "deploy/internal/connect", "deploy/internal/estatefile", "deploy/internal/flags",
			"deploy/internal/output", "deploy/internal/records"}},
	{"a command imports no other command", "deploy/internal/bench",
		[]string{"schemas", "edge/client", "deploy/internal/connect", "deploy/internal/flags", "deploy/internal/output",
			"bus",
			"deploy/load", "deploy/internal/records"}},
	{"the program consists of its commands", "deploy/cairn", []string{"bus", "schemas", "edge/client", "deploy/internal"}},
	{"test/wait imports no package of this module", "test/wait", nil},
	{"system tests may import every public package, and cairntest", "test",
		[]string{"schemas", "bus", "edge", "services", "test/cairntest"}},
}

// binding permits packages at or below the directory from to import packages at or below may.
type binding struct {
	rule string
	from string
	may  []string
}

// libraryRules lists the only packages that may import a library.
var libraryRules = []struct {
	rule    string
	library string
	only    []string
}{
	{"only the graph imports its store", "github.com/cayleygraph/", []string{"services/internal/graph"}},
	{"only the index and the embedder import bleve", "github.com/blevesearch/bleve/",
		[]string{"services/internal/index", "services/internal/embed"}},
	{"only models and embedders import Ollama", "github.com/ollama/",
		[]string{"services/internal/model/ollama", "services/internal/model/ollamatest", "services/internal/embed",
			"services/internal/ollamahost"}},
	{"only clients of event streams import go-sse", "github.com/tmaxmax/go-sse",
		[]string{"services/internal/model/openai", "edge/client", "test/robustness"}},
	{"only the index imports Elasticsearch", "github.com/elastic/", []string{"services/internal/index"}},
	{"the edge and the command line use NATS through the bus", "github.com/nats-io/nats.go", []string{"bus", "services"}},
	{"only the packages of servers and clusters import the server", "github.com/nats-io/nats-server/",
		[]string{"bus/natsserver", "bus/members", "bus/bustest"}},
	{"only the breaker imports gobreaker", "github.com/sony/gobreaker", []string{"services/internal/breaker"}},
	{"only the command line imports Cobra", "github.com/spf13/", []string{"deploy/cairn", "deploy/internal"}},
	{"services use HTTP for backends only", "net/http",
		[]string{"edge", "deploy/cairn", "deploy/internal/estatefile", "deploy/internal/bench",
			"deploy/internal/connect", "deploy/internal/doctor", "deploy/internal/importer", "deploy/internal/stdio",
			"deploy/internal/operations",
			"services/internal", "test"}},
	{"only its adapter and the command line import the Model Context Protocol", "github.com/modelcontextprotocol/",
		[]string{"edge/mcp", "deploy/internal/stdio", "deploy/internal/importer"}},
	{"only its adapter imports the Agent2Agent protocol", "github.com/a2aproject/", []string{"edge/a2a"}},
	{"only the edge imports the router", "github.com/gorilla/", []string{"edge"}},
	{"only telemetry imports OpenTelemetry", "go.opentelemetry.io/", []string{"bus/telemetry"}},
	{"only telemetry and the edge import Prometheus", "github.com/prometheus/", []string{"bus/telemetry", "edge"}},
}

// forbidden lists libraries that no package and no test may import.
var forbidden = []string{"github.com/stretchr/", "github.com/onsi/", "github.com/golang/mock/"}

// nestedLibraries are libraries of tests that only nested modules may require, so that
// they do not reach the program.
var nestedLibraries = []string{"github.com/anishathalye/porcupine", "github.com/chromedp/", "github.com/redis/",
	"k8s.io/",
	"modernc.org/", "sigs.k8s.io/"}

// source is a package in the output of "go list".
type source struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

func TestPackageImports(t *testing.T) {
	t.Parallel()
	used := make([]bool, len(packageRules))
	for _, p := range packages(t) {
		rule := slices.IndexFunc(packageRules, func(b binding) bool { return below(p.ImportPath, b.from) })
		if rule < 0 {
			t.Errorf("no rule for package %s", p.ImportPath)
			continue
		}
		used[rule] = true
		for _, imported := range p.Imports {
			if strings.HasPrefix(imported, module) && !belowAny(imported, packageRules[rule].may) {
				t.Errorf("%s imports %s: %s", p.ImportPath, imported, packageRules[rule].rule)
			}
		}
	}
	for i, u := range used {
		if !u && packageRules[i].from != "test" { // has only test files
			t.Errorf("rule %q matches no package: %s does not exist", packageRules[i].rule, packageRules[i].from)
		}
	}
}

func TestLibraryImports(t *testing.T) {
	t.Parallel()
	list := packages(t)
	for _, r := range libraryRules {
		users := 0
		for _, p := range list {
			if !slices.ContainsFunc(p.Imports, func(i string) bool { return strings.HasPrefix(i, r.library) }) {
				continue
			}
			users++
			if !belowAny(p.ImportPath, r.only) {
				t.Errorf("%s imports %s: %s", p.ImportPath, r.library, r.rule)
			}
		}
		if users == 0 {
			t.Errorf("rule %q is unused: no package imports %s", r.rule, r.library)
		}
	}
	for _, p := range list {
		for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if slices.ContainsFunc(forbidden, func(l string) bool { return strings.HasPrefix(imported, l) }) {
				t.Errorf("%s imports %s, which is forbidden", p.ImportPath, imported)
			}
		}
	}
}

func TestNestedLibraryImports(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("../go.mod")
	must(t, err)
	for _, library := range nestedLibraries {
		if strings.Contains(string(file), "\t"+library) {
			t.Errorf("go.mod requires %s, which only nested modules may require", library)
		}
	}
}

func below(pkg, directory string) bool {
	return pkg == module+directory || strings.HasPrefix(pkg, module+directory+"/")
}

func belowAny(pkg string, directories []string) bool {
	return slices.ContainsFunc(directories, func(f string) bool { return below(pkg, f) })
}

// packages returns all packages of the module and of its nested modules.
func packages(t *testing.T) (list []source) {
	t.Helper()
	for _, directory := range modules(t) {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
		cmd.Dir = directory
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list in %s: %v", directory, err)
		}
		for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
			var p source
			must(t, d.Decode(&p))
			list = append(list, p)
		}
	}
	return list
}

// modules returns the directories of the modules that "make test" covers.
func modules(t *testing.T) []string {
	t.Helper()
	file, err := os.ReadFile("../Makefile")
	must(t, err)
	nested := regexp.MustCompile(`(?m)^MODULES := (.*)$`).FindSubmatch(file)
	if nested == nil {
		t.Fatal("the Makefile lists no MODULES")
	}
	directories := []string{".."}
	for directory := range strings.FieldsSeq(string(nested[1])) {
		directories = append(directories, filepath.Join("..", directory))
	}
	return directories
}

// TestNestedModules finds each module whose packages import Cairn in the Makefile.
func TestNestedModules(t *testing.T) {
	t.Parallel()
	listed := modules(t)
	for _, file := range tracked(t) {
		directory, name := filepath.Split(filepath.Join("..", file))
		if name != "go.mod" || slices.Contains(listed, filepath.Clean(directory)) {
			continue
		}
		if text, err := os.ReadFile(filepath.Join(directory, name)); err != nil ||
			strings.Contains(string(text), "replace cairn ") {
			t.Errorf("MODULES in the Makefile does not list %s (%v)", directory, err)
		}
	}
}
