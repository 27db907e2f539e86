package docs

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"cairn/schemas"
)

func TestLinksResolve(t *testing.T) {
	t.Parallel()
	m, err := New("test", Entry{"reference", "HTTP reference"})
	must(t, err)
	ids := map[string]bool{"reference": true}
	for name, page := range m.pages {
		ids[name] = true
		for _, id := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(string(page), -1) {
			ids[name+"#"+id[1]] = true
		}
	}
	links := 0
	for name, page := range m.pages {
		for _, link := range regexp.MustCompile(`href="(/docs/|#)([^"]*)"`).FindAllStringSubmatch(string(page), -1) {
			target := link[2]
			if link[1] == "#" {
				target = name + "#" + target
			}
			if links++; !ids[target] {
				t.Errorf("%s.md links to %q, which does not exist", name, target)
			}
		}
	}
	if links == 0 {
		t.Error("found no link")
	}
}

func TestImages(t *testing.T) {
	t.Parallel()
	m, err := New("test")
	must(t, err)
	page, _ := m.Page("console")
	list := regexp.MustCompile(`<img src="/docs/images/([^"]+)" alt="[^"]`).FindAllStringSubmatch(string(page), -1)
	if len(list) == 0 {
		t.Error("found no image with a description")
	}
	for _, match := range list {
		if image, ok := m.Image(match[1]); !ok || len(image) > 100_000 {
			t.Errorf("%s: %v, %d bytes, want at most 100,000", match[1], ok, len(image))
		}
	}
	if _, ok := m.Image("../docs.go"); ok {
		t.Error("a file outside of the images is served")
	}
}

// TestPagesHaveNoInlineStyles: the content security policy forbids them.
func TestPagesHaveNoInlineStyles(t *testing.T) {
	t.Parallel()
	m, err := New("test")
	must(t, err)
	for name, page := range m.pages {
		if strings.Contains(string(page), " style=") {
			t.Errorf("%s.md has inline styles", name)
		}
	}
}

func TestSearchFindsSections(t *testing.T) {
	t.Parallel()
	m, err := New("test")
	must(t, err)
	rows := []struct{ name, query, want string }{
		{"a term of a table", "relevance floor", `href="/docs/concepts#`},
		{"words that occur in no section", "zzzz qqqq", "No section contains"},
		{"an empty query", "", "No section contains"},
		{"markup in the query is escaped", "<script>", "&lt;script&gt;"},
		{"a query longer than the limit", strings.Repeat("é", 5000), "No section contains"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			page, err := m.Search(row.query)
			must(t, err)
			if !strings.Contains(string(page), row.want) {
				t.Errorf("want %q in %s", row.want, page)
			}
			if strings.Contains(string(page), "<script>") {
				t.Error("the query is not escaped")
			}
		})
	}
}

func TestEveryErrorIsExplained(t *testing.T) {
	t.Parallel()
	m, err := New("test")
	must(t, err)
	page, ok := m.Page("errors")
	if !ok {
		t.Fatal("the errors page does not exist")
	}
	for _, e := range schemas.Table() {
		_, section, ok := strings.Cut(string(page), ` id="`+e.Code+`"`)
		section, _, _ = strings.Cut(section, "<h")
		switch {
		case !ok:
			t.Errorf("errors.md has no heading for %s", e.Code)
		case !strings.Contains(section, "<em>Remedy:</em>") && !strings.Contains(section, "As <a"):
			t.Errorf("errors.md has no remedy for %s", e.Code)
		}
	}
}

// must fails the test on an error of its setup.
func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
