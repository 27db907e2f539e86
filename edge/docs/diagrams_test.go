package docs

import (
	"cmp"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/yuin/goldmark/text"
)

var update = flag.Bool("update", false, "generate missing images of diagrams; needs npx and Chromium (CHROMIUM)")

// mermaidCLI is the program that generates images of diagrams.
const mermaidCLI = "@mermaid-js/mermaid-cli@11.12.0"

// TestDiagrams checks that each Mermaid diagram of the manual has its image, and each image its diagram.
func TestDiagrams(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(files, "*.md")
	must(t, err)
	wanted := map[string][]byte{}
	for _, name := range names {
		source, err := files.ReadFile(name)
		must(t, err)
		doc := markdown.Parser().Parse(text.NewReader(source))
		for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
			if isDiagram(n, source) {
				diagram := n.Lines().Value(source)
				wanted[diagramFile(diagram)] = diagram
			}
		}
	}
	present, err := filepath.Glob("images/diagram-*.png")
	must(t, err)
	for _, path := range present {
		name := filepath.Base(path)
		if _, ok := wanted[name]; !ok && *update {
			_ = os.Remove(path)
		} else if !ok {
			t.Errorf("%s belongs to no diagram; run go test ./edge/docs -run Diagrams -update", path)
		}
		delete(wanted, name)
	}
	for name, diagram := range wanted {
		if !*update {
			t.Errorf("images/%s does not exist; run go test ./edge/docs -run Diagrams -update. Diagram:\n%s", name, diagram)
			continue
		}
		draw(t, name, diagram)
	}
}

// draw generates the image of a diagram.
func draw(t *testing.T, name string, diagram []byte) {
	t.Helper()
	dir := t.TempDir()
	chromium := cmp.Or(os.Getenv("CHROMIUM"), "/usr/bin/chromium")
	for file, content := range map[string]string{
		"in.mmd":         string(diagram),
		"mermaid.json":   `{"theme": "neutral", "htmlLabels": false, "flowchart": {"htmlLabels": false}, "deterministicIds": true}`,
		"puppeteer.json": `{"executablePath": "` + chromium + `", "args": ["--no-sandbox"]}`,
	} {
		must(t, os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600))
	}
	cmd := exec.CommandContext(t.Context(), "npx", "-y", "-p", mermaidCLI, "mmdc", "-p",
		filepath.Join(dir, "puppeteer.json"),
		"-c", filepath.Join(dir, "mermaid.json"), "-i", filepath.Join(dir, "in.mmd"), "-o", filepath.Join("images", name),
		"-b", "white", "-s", "2")
	cmd.Env = append(os.Environ(), "PUPPETEER_SKIP_DOWNLOAD=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
