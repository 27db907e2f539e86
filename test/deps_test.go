package test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// module is the name of this module, and the beginning of its packages.
const module = "cairn/"

// inside are the rules of what may import what of ours. Each package is bound
// by the first rule whose from it is or is below. Tests wire as they need.
var inside = []binding{
	{"schemas import nothing of ours", "schemas", nil},
	{"a bus for tests imports the bus", "bus/bustest", []string{"bus"}},
	{"backups are made by means of the bus", "bus/backup", []string{"schemas", "bus"}},
	{"keys are kept by means of the bus", "bus/keys", []string{"schemas", "bus"}},
	{"telemetry is used by all and uses nothing", "bus/telemetry", nil},
	{"certificates are read by means of nothing", "bus/certificate", nil},
	{"bus/overload imports bus/admission only", "bus/overload", []string{"bus/admission"}},
	{"bus/admission imports no other package of this module", "bus/admission", nil},
	{"buckets know what is said", "bus/bucket", []string{"schemas"}},
	{"the bus knows what is said", "bus", []string{"schemas", "bus/telemetry", "bus/certificate", "bus/bucket", "bus/overload", "bus/admission"}},
	{"the edge knows no backend and no service", "edge", []string{"schemas", "bus", "edge"}},
	{"what services share knows no service", "services/internal", []string{"schemas", "bus", "services/internal"}},
	{"a service knows no other service", "services/tags", []string{"schemas", "bus", "services/internal"}},
	{"a service knows no other service", "services/register", []string{"schemas", "bus", "services/internal"}},
	{"a service knows no other service", "services/resolve", []string{"schemas", "bus", "services/internal"}},
	{"a service knows no other service", "services/analyze", []string{"schemas", "bus", "services/internal"}},
	{"a service knows no other service", "services/render", []string{"schemas", "bus", "services/internal"}},
	{"services are wired in one place", "services", []string{"schemas", "bus", "services"}},
	{"load knows nothing of what it is put on", "deploy/load", nil},
	{"the command line may use all that is public", "deploy", []string{"schemas", "bus", "edge", "services", "deploy"}},
	{"tests of the whole may use all that is public", "test", []string{"schemas", "bus", "edge", "services"}},
}

// binding says what of ours the packages at or below a folder may import.
type binding struct {
	rule string
	from string
	may  []string
}

// outside are the rules of who may import a library; no one else does.
var outside = []struct {
	rule    string
	library string
	only    []string
}{
	{"the graph's store is an affair of the graph", "github.com/cayleygraph/", []string{"services/internal/graph"}},
	{"words are an affair of the index and its embedder", "github.com/blevesearch/bleve/", []string{"services/internal/index", "services/internal/embed"}},
	{"Ollama is an affair of models and embedders", "github.com/ollama/", []string{"services/internal/model/ollama", "services/internal/model/ollamatest", "services/internal/embed", "services/internal/ollamahost"}},
	{"only clients of event streams import go-sse", "github.com/tmaxmax/go-sse", []string{"services/internal/model/openai", "deploy/cairn"}},
	{"Elasticsearch is an affair of the index", "github.com/elastic/", []string{"services/internal/index"}},
	{"the edge and the command line use NATS through the bus", "github.com/nats-io/nats.go", []string{"bus", "services"}},
	{"the embedded server is an affair of the bus", "github.com/nats-io/nats-server/", []string{"bus"}},
	{"commands are an affair of the command line", "github.com/spf13/", []string{"deploy/cairn"}},
	{"services know no HTTP, but for their backends", "net/http", []string{"edge", "deploy/cairn", "deploy/faults", "services/internal", "test"}},
	{"routes are an affair of the edge", "github.com/gorilla/", []string{"edge"}},
	{"how traces are told is an affair of telemetry", "go.opentelemetry.io/", []string{"bus/telemetry"}},
	{"how metrics are told is an affair of telemetry, and the edge serves them", "github.com/prometheus/", []string{"bus/telemetry", "edge"}},
}

// nowhere are libraries that not even tests import.
var nowhere = []string{"github.com/stretchr/", "github.com/onsi/", "github.com/golang/mock/"}

// source is a package as "go list" knows it.
type source struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

func TestImportsOfOurs(t *testing.T) {
	t.Parallel()
	used := make([]bool, len(inside))
	for _, p := range packages(t) {
		at := slices.IndexFunc(inside, func(b binding) bool { return below(p.ImportPath, b.from) })
		if at < 0 {
			t.Errorf("%s is bound by no rule; give it one", p.ImportPath)
			continue
		}
		used[at] = true
		for _, imported := range p.Imports {
			if strings.HasPrefix(imported, module) && !belowAny(imported, inside[at].may) {
				t.Errorf("%s imports %s: %s", p.ImportPath, imported, inside[at].rule)
			}
		}
	}
	for i, u := range used {
		if !u && inside[i].from != "test" { // which has tests alone
			t.Errorf("rule %q binds no package: there is no %s", inside[i].rule, inside[i].from)
		}
	}
}

func TestImportsOfLibraries(t *testing.T) {
	t.Parallel()
	list := packages(t)
	for _, r := range outside {
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
			t.Errorf("rule %q binds nobody: nothing imports %s", r.rule, r.library)
		}
	}
	for _, p := range list {
		for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if slices.ContainsFunc(nowhere, func(l string) bool { return strings.HasPrefix(imported, l) }) {
				t.Errorf("%s imports %s, which nothing does", p.ImportPath, imported)
			}
		}
	}
}

func below(pkg, folder string) bool {
	return pkg == module+folder || strings.HasPrefix(pkg, module+folder+"/")
}

func belowAny(pkg string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return below(pkg, f) })
}

// packages are all packages of the module.
func packages(t *testing.T) []source {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var list []source
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p source
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return list
		case err != nil:
			t.Fatal(err)
		}
		list = append(list, p)
	}
}
