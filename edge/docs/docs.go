// Package docs is the manual: Markdown files that are readable in the repository
// and that a running edge serves as HTML, without any other resource. A link from
// one file to another ("errors.md#CE-021") becomes a link between pages.
package docs

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

//go:embed *.md
var files embed.FS

//go:embed images
var images embed.FS

//go:embed page.html
var pageHTML string

//go:embed style.css
var style string

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// order lists pages in the order of the table of contents; pages not listed follow.
var order = []string{
	"concepts", "console", "http-api", "clients", "nats-api", "cli", "import", "configuration", "retrieval", "analysis",
	"estates",
	"exports", "mcp", "a2a", "ard", "errors",
	"security", "nats-permissions", "operations", "clustering", "benchmarks", "architecture",
}

// ContentSecurityPolicy permits the style sheet, images and the search form of a page, and no
// scripts.
var ContentSecurityPolicy = func() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; img-src 'self'; style-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'"
}()

// Manual is the rendered manual. It does not change and may be used concurrently.
type Manual struct {
	version  string
	contents []Entry
	pages    map[string][]byte // by name, HTML
	sections []section         // of all pages, for Search
}

// Entry is a line of the table of contents.
type Entry struct{ Name, Title string }

// section is a search result: a heading of a page with the text that follows it.
type section struct {
	Page, ID, Title, Text string
	heading, words        string // lower case
}

// score returns 0 if a term is missing. A term in the heading counts ten times.
func (s *section) score(terms []string) (total int) {
	for _, t := range terms {
		n := 10*strings.Count(s.heading, t) + min(strings.Count(s.words, t), 9)
		if n == 0 {
			return 0
		}
		total += n
	}
	return total
}

// excerpt returns the text around the first occurrence of the term.
func (s *section) excerpt(term string) string {
	text := s.Text
	if len(text) <= excerpt {
		return text
	}
	from := max(0, min(strings.Index(s.words, term)-excerpt/3, len(text)-excerpt))
	return strings.ToValidUTF8("… "+text[from:from+excerpt]+" …", "")
}

// New renders the manual. The extra entries are shown in the table of contents
// and are served by the caller.
func New(version string, extra ...Entry) (*Manual, error) {
	m := &Manual{version: version, pages: map[string][]byte{}}
	names, err := fs.Glob(files, "*.md")
	if err != nil {
		return nil, err
	}
	slices.SortFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	var bodies []template.HTML
	for _, name := range names {
		source, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		name = strings.TrimSuffix(name, ".md")
		title, body, err := m.render(name, source)
		if err != nil {
			return nil, fmt.Errorf("render %s.md: %w", name, err)
		}
		m.contents, bodies = append(m.contents, Entry{name, title}), append(bodies, body)
	}
	for i := range m.sections {
		s := &m.sections[i]
		s.heading, s.words = strings.ToLower(s.Title), strings.ToLower(s.Text)
	}
	m.contents = append(m.contents, extra...)
	for i, body := range bodies {
		page := m.contents[i]
		if m.pages[page.Name], err = m.Layout(page.Name, page.Title, body); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func rank(file string) int {
	if index := slices.Index(order, strings.TrimSuffix(file, ".md")); index >= 0 {
		return index
	}
	return len(order)
}

// Page returns the page as HTML, or false if it does not exist.
func (m *Manual) Page(name string) ([]byte, bool) {
	page, ok := m.pages[name]
	return page, ok
}

// Image returns an image of the manual as PNG, or false if it does not exist.
func (m *Manual) Image(name string) ([]byte, bool) {
	image, err := images.ReadFile("images/" + name)
	return image, err == nil
}

// diagramFile returns the name of the image of a Mermaid diagram, which depends on its source.
func diagramFile(source []byte) string {
	return fmt.Sprintf("diagram-%.12x.png", sha256.Sum256(source))
}

// isDiagram reports whether n is a block of code in the language of Mermaid.
func isDiagram(n ast.Node, source []byte) bool {
	code, ok := n.(*ast.FencedCodeBlock)
	return ok && string(code.Language(source)) == "mermaid"
}

// showDiagrams replaces Mermaid diagrams with images, because pages contain no scripts. The
// alternative text is the heading of the section.
func showDiagrams(doc ast.Node, source []byte) {
	heading := ""
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() == ast.KindHeading {
			heading = plainText(n, source)
		}
		if !isDiagram(n, source) {
			continue
		}
		link := ast.NewLink()
		link.Destination = []byte("/docs/images/" + diagramFile(n.Lines().Value(source)))
		image := ast.NewImage(link)
		image.AppendChild(image, ast.NewString([]byte("Diagram: "+heading)))
		paragraph := ast.NewParagraph()
		paragraph.AppendChild(paragraph, image)
		doc.ReplaceChild(doc, n, paragraph)
		n = paragraph
	}
}

// Contents returns the table of contents.
func (m *Manual) Contents() []Entry { return slices.Clone(m.contents) }

// Layout returns a page with the given body next to the table of contents.
func (m *Manual) Layout(name, title string, body template.HTML) ([]byte, error) {
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, map[string]any{
		"Version": m.version, "Name": name, "Title": title, "Body": body, "Contents": m.contents,
		"Style": template.CSS(style),
	})
	return b.Bytes(), err
}

// markdown is GitHub Flavored Markdown. The alignment of a table cell is an attribute, because
// ContentSecurityPolicy forbids inline styles.
var markdown = goldmark.New(goldmark.WithExtensions(
	extension.Linkify, extension.Strikethrough, extension.TaskList,
	extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
), goldmark.WithParserOptions(parser.WithAutoHeadingID()))

// render returns the title of the page, which is its first heading, and its body.
func (m *Manual) render(page string, source []byte) (string, template.HTML, error) {
	doc := markdown.Parser().Parse(text.NewReader(source),
		parser.WithContext(parser.NewContext(parser.WithIDs(&headingIDs{}))))
	title := page
	var current *section
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			n.Destination = []byte(siteLink(string(n.Destination)))
		case *ast.Image:
			n.Destination = append([]byte("/docs/"), n.Destination...)
		case *ast.Heading:
			if n.Level == 1 {
				title = plainText(n, source)
			}
			id, _ := n.AttributeString("id")
			idText, _ := id.([]byte)
			m.sections = append(m.sections, section{Page: page, ID: string(idText), Title: plainText(n, source)})
			current = &m.sections[len(m.sections)-1]
			return ast.WalkContinue, nil
		}
		if current != nil && n.Type() == ast.TypeBlock && n.Kind() != ast.KindList && n.Kind() != ast.KindListItem &&
			!n.IsRaw() {
			if n.FirstChild() != nil && n.FirstChild().Type() == ast.TypeInline {
				current.Text += plainText(n, source) + " "
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return "", "", err
	}
	showDiagrams(doc, source)
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, source, doc); err != nil {
		return "", "", err
	}
	return title, template.HTML(b.String()), nil // the files are part of this program
}

// Search returns a page with the sections that contain all words of the query.
// Matches in headings rank higher. The cost is bounded by the size of the manual.
func (m *Manual) Search(query string) ([]byte, error) {
	query = strings.ToValidUTF8(query[:min(len(query), maxQuery)], "")
	terms := strings.Fields(strings.ToLower(query))
	terms = terms[:min(len(terms), maxTerms)]
	type hit struct {
		section
		score int
	}
	var hits []hit
	for _, s := range m.sections {
		if score := s.score(terms); score > 0 {
			hits = append(hits, hit{s, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	var results []section
	for _, h := range hits[:min(len(hits), maxResults)] {
		h.Text = h.excerpt(terms[0])
		results = append(results, h.section)
	}
	var b bytes.Buffer
	if err := resultsTemplate.Execute(&b, map[string]any{"Query": query, "Results": results}); err != nil {
		return nil, err
	}
	return m.Layout("search", "Search", template.HTML(b.String())) // escaped by resultsTemplate
}

// siteLink turns a link between files into one between pages.
func siteLink(destination string) string {
	file, fragment, hasFragment := strings.Cut(destination, "#")
	name, isPage := strings.CutSuffix(file, ".md")
	if !isPage || strings.Contains(name, "/") {
		return destination
	}
	if hasFragment {
		fragment = "#" + fragment
	}
	return "/docs/" + name + fragment
}

func plainText(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // returns no error
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(source))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}

var (
	errorCode = regexp.MustCompile(`^(CE|AN)-[0-9]{3}`)
	noSlug    = regexp.MustCompile(`[^a-z0-9 _-]+`)
)

// headingIDs generates the ids of headings as code hosts do, except that the heading of an
// error code keeps its case: "CE-021".
type headingIDs struct{ used []string }

// Generate implements parser.IDs.
func (h *headingIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	id := errorCode.FindString(string(value))
	if id == "" {
		id = strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(strings.TrimSpace(string(value))), ""), " ", "-")
	}
	unique := id
	for n := 1; slices.Contains(h.used, unique); n++ {
		unique = fmt.Sprintf("%s-%d", id, n)
	}
	h.used = append(h.used, unique)
	return util.StringToReadOnlyBytes(unique)
}

// Put implements parser.IDs.
func (h *headingIDs) Put(value []byte) { h.used = append(h.used, string(value)) }

const (
	maxQuery   = 200 // bytes of a search query that are used
	maxTerms   = 10
	maxResults = 20
	excerpt    = 240 // bytes
)

var resultsTemplate = template.Must(template.New("results").Parse(`<h1>Search</h1>
{{if .Results}}<ul class="results">{{range .Results}}<li><a href="/docs/{{.Page}}#{{.ID}}">{{.Title}}</a> <small>{{.Page}}</small><br>
{{.Text}}</li>
{{end}}</ul>{{else}}<p>No section contains all words of “{{.Query}}”.</p>{{end}}`))
