package test

import (
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// routes are the routes of the contracts and of their extensions.
var routes = []string{
	"GET /health", "POST /tags/write", "GET /tags/{request_id}", "DELETE /tags/{request_id}",
	"POST /register/skill", "POST /register/agent", "POST /register/tool", "POST /register/context_builder",
	"POST /register/guardrail", "POST /register/template", "DELETE /register/{kind}/{id}",
	"POST /resolve/skill", "POST /resolve/agent", "POST /resolve/context", "POST /resolve/context_builders",
	"POST /resolve/tools", "POST /resolve/tool_class", "POST /resolve/template", "POST /resolve/guardrail",
	"GET /skills", "GET /tools", "POST /search/playbooks", "POST /answer/knowledge", "POST /resolve/domain_knowledge",
	"POST /api/v1/analyze",
}

func TestOpenAPIListsRoutes(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		var doc struct {
			OpenAPI string `json:"openapi"`
			Paths   map[string]map[string]json.RawMessage
		}
		a := c.do(t, "GET /openapi.json", "")
		if err := json.Unmarshal([]byte(a.body), &doc); err != nil || !strings.HasPrefix(doc.OpenAPI, "3.1") {
			t.Fatalf("version %q, want 3.1: %v", doc.OpenAPI, err)
		}
		var listed []string
		for path, methods := range doc.Paths {
			for method := range methods {
				listed = append(listed, strings.ToUpper(method)+" "+path)
			}
		}
		for _, route := range routes {
			if !slices.Contains(listed, route) {
				t.Errorf("%s is not in the document, which lists %q", route, listed)
			}
		}
		for path, text := range map[string]string{
			"/docs": `id="CE-021"`, "/docs/reference": "/api/v1/analyze", "/docs/concepts": "watermark",
			"/docs/search?q=watermark": "/docs/concepts#",
		} {
			page := c.do(t, "GET "+path, "")
			if !strings.HasPrefix(page.header.Get("Content-Type"), "text/html") || !strings.Contains(page.body, text) ||
				!strings.Contains(page.body, "</html>") {
				t.Errorf("%s is %s: %s", path, page.header.Get("Content-Type"), truncated(page.body))
			}
		}
		c.call(t, "GET /docs/absent", "").expect(t, 404, "CE-004", "")
	})
}

// TestGuaranteesHaveTests finds each test that .github/SECURITY.md names, and compares its
// table with the one in the manual. With -update it writes the latter.
func TestGuaranteesHaveTests(t *testing.T) {
	t.Parallel()
	policy, err := os.ReadFile("../.github/SECURITY.md")
	must(t, err)
	_, guarantees, _ := strings.Cut(string(policy), "\n| guarantee |")
	compareGuarantees(t, "| guarantee |"+guarantees)
	defined := map[string]bool{}
	err = filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range testFunction.FindAllSubmatch(text, -1) {
			defined[string(m[1])] = true
		}
		return err
	})
	must(t, err)
	rows := 0
	for line := range strings.Lines(string(policy)) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 || strings.Contains(line, "---") || strings.Contains(line, "| guarantee |") {
			continue
		}
		rows++
		names := testName.FindAllString(cells[2], -1)
		if len(names) == 0 {
			t.Errorf("no test named: %s", line)
		}
		for _, name := range names {
			if !defined[name] {
				t.Errorf("no test %s, which proves%s", name, cells[1])
			}
		}
	}
	if rows < 10 {
		t.Errorf("read %d guarantees, want at least 10", rows)
	}
}

// compareGuarantees checks that the table is in the manual, or writes it.
func compareGuarantees(t *testing.T, table string) {
	t.Helper()
	const file, begin, end = "../edge/docs/security.md", "<!-- guarantees -->\n", "<!-- end of guarantees -->\n"
	manual, err := os.ReadFile(file)
	must(t, err)
	head, rest, ok1 := strings.Cut(string(manual), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no markers for the guarantees", file)
	}
	want := head + begin + table + end + tail
	if *update {
		must(t, os.WriteFile(file, []byte(want), 0o644))
	} else if string(manual) != want {
		t.Errorf("%s is out of date: go test ./test -run Guarantees -update", file)
	}
}

var (
	update = flag.Bool("update", false, "write the guarantees of the manual")

	testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	testName     = regexp.MustCompile(`\bTest\w+`)
)
