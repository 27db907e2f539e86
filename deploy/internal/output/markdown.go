package output

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/rivo/uniseg"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
	"golang.org/x/term"
)

// Markdown writes Markdown that is written in chunks. On a terminal it renders each block
// (CommonMark with GFM tables) as soon as it is complete; elsewhere it writes the text
// unchanged. Control and bidi characters are escaped in both cases.
//
// MarkFigures marks unsupported figures. On a terminal it rewrites the text since the last Break
// if that is still on the screen; elsewhere Hold buffers the text that it may change.
type Markdown struct {
	out     io.Writer
	render  bool
	styled  bool
	hold    bool                       // text after the first digit is written by MarkFigures or Close
	size    func() (width, height int) // of the terminal; 0: unknown
	text    strings.Builder            // all text
	since   int                        // offset in text of the last Break
	written int                        // offset of the unwritten rest of text
	rows    int                        // of the terminal, since the last Break
	between bool                       // a block was written
	apart   bool                       // between, at the last Break
	open    bool                       // unrendered text without a line break at its end
}

// NewMarkdown returns a Markdown that writes to out.
func NewMarkdown(out io.Writer) *Markdown {
	m := &Markdown{out: out, render: IsTerminal(out)}
	m.styled = m.render && os.Getenv("NO_COLOR") == ""
	if f, ok := unescaped(out).(*os.File); ok && m.render {
		m.size = func() (int, int) {
			width, height, err := term.GetSize(int(f.Fd()))
			if err != nil {
				return 0, 0
			}
			return width, height
		}
	}
	return m
}

// Hold buffers unrendered text from its first digit on, until MarkFigures or Close.
func (m *Markdown) Hold() { m.hold = !m.render }

// Write writes a chunk of the text.
func (m *Markdown) Write(piece string) error {
	if piece == "" {
		return nil
	}
	m.text.WriteString(piece)
	switch {
	case m.hold:
		rest := m.text.String()[m.written:]
		if digit := strings.IndexAny(rest, "0123456789"); digit >= 0 {
			rest = rest[:digit]
		}
		return m.plain(rest)
	case !m.render:
		return m.plain(piece)
	case !strings.Contains(piece, "\n"):
		return nil
	}
	finished, _ := complete(m.text.String()[m.written:])
	if finished == "" {
		return nil
	}
	m.written += len(finished)
	return m.blocks(finished)
}

// plain writes text without rendering it.
func (m *Markdown) plain(text string) error {
	if text == "" {
		return nil
	}
	m.written += len(text)
	m.open = !strings.HasSuffix(text, "\n")
	_, err := io.WriteString(m.out, text)
	return err
}

// Break ends the line, before other output on the same terminal.
func (m *Markdown) Break() error {
	if !m.hold {
		err := m.Close()
		m.text.WriteString("\n\n") // the next text is another block
		m.since, m.written, m.rows, m.apart = m.text.Len(), m.text.Len(), 0, m.between
		return err
	}
	if text := m.text.String(); text != "" && !strings.HasSuffix(text, "\n") {
		return m.Write("\n")
	}
	return nil
}

// MarkFigures marks the unsupported figures. figures has all figures of the text in their order.
func (m *Markdown) MarkFigures(figures []Figure) error {
	all := m.text.String()
	ends := unsupportedEnds(all, figures)
	if !m.render {
		ends = slices.DeleteFunc(ends, func(end int) bool { return end <= m.written })
		text, from := marked(all, ends), m.written
		m.hold = false
		if err := m.plain(text[from:]); err != nil {
			return err
		}
		m.written = len(all)
		return nil
	}
	if err := m.Close(); err != nil {
		return err
	}
	var last []int
	for _, end := range ends {
		if end > m.since {
			last = append(last, end-m.since)
		}
	}
	_, height := m.size()
	if len(last) == 0 || m.rows >= height {
		return nil
	}
	if _, err := fmt.Fprintf(unescaped(m.out), "\x1b[%dA\x1b[J", m.rows); err != nil {
		return err
	}
	m.rows, m.between = 0, m.apart
	return m.blocks(marked(all[m.since:], last))
}

// Close writes the rest of the text and ends its last line.
func (m *Markdown) Close() error {
	rest := m.text.String()[m.written:]
	if !m.render {
		m.hold = false
		if err := m.plain(rest); err != nil || !m.open {
			return err
		}
		m.open = false
		_, err := io.WriteString(m.out, "\n")
		return err
	}
	m.written = m.text.Len()
	if strings.TrimSpace(rest) == "" {
		return nil
	}
	return m.blocks(rest)
}

// complete splits text after the last empty line that is outside of fenced code, and that
// no indented line follows, which would belong to the block before.
func complete(text string) (blocks, rest string) {
	fence, end, at := "", 0, 0
	empty := false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
		case strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~"):
			fence = trimmed[:3]
		}
		if empty && trimmed != "" && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "\t") {
			end = at
		}
		empty = fence == "" && trimmed == ""
		at += len(line)
	}
	return text[:end], text[end:]
}

var markdown = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough))

// blocks renders complete blocks.
func (m *Markdown) blocks(source string) error {
	source = strings.ToValidUTF8(source, "\uFFFD")
	r := &renderer{source: []byte(source), styled: m.styled}
	root := markdown.Parser().Parse(text.NewReader(r.source))
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		if m.between {
			r.b.WriteByte('\n')
		}
		m.between = true
		r.block(n, "")
	}
	m.rows += rowsOf(r.b.String(), m.size)
	_, err := io.WriteString(unescaped(m.out), r.b.String())
	return err
}

var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// rowsOf returns the number of rows of a terminal that lines of text take.
func rowsOf(text string, size func() (width, height int)) (rows int) {
	width, _ := size()
	for line := range strings.Lines(sgr.ReplaceAllString(text, "")) {
		rows++
		if columns := uniseg.StringWidth(strings.TrimRight(line, "\n")); width > 0 && columns > width {
			rows += (columns - 1) / width
		}
	}
	return rows
}

// renderer renders a tree for a terminal.
type renderer struct {
	source []byte
	styled bool
	b      strings.Builder
}

// SGR parameters of ECMA-48.
const (
	bold      = "1"
	italic    = "3"
	underline = "4"
	cyan      = "36"
	struck    = "9"
)

func (r *renderer) style(sgr, text string) string {
	if !r.styled || text == "" {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}

// line writes a line of rendered text.
func (r *renderer) line(indent, text string) { r.b.WriteString(indent + text + "\n") }

// block writes a block whose lines begin with indent.
func (r *renderer) block(n ast.Node, indent string) {
	switch n := n.(type) {
	case *ast.Heading:
		r.line(indent, r.style(bold+";"+underline, r.inlines(n)))
	case *ast.Paragraph, *ast.TextBlock:
		for line := range strings.SplitSeq(r.inlines(n), "\n") {
			r.line(indent, line)
		}
	case *ast.FencedCodeBlock, *ast.CodeBlock, *ast.HTMLBlock:
		for i := range n.Lines().Len() {
			segment := n.Lines().At(i)
			code := strings.TrimRight(string(segment.Value(r.source)), "\n")
			r.line(indent+"  ", r.style(cyan, escapedLine(strings.ReplaceAll(code, "\t", "    "))))
		}
	case *ast.ThematicBreak:
		r.line(indent, r.style(faint, strings.Repeat("─", 20)))
	case *ast.Blockquote:
		r.children(n, indent+r.style(faint, "│ "), true)
	case *ast.List:
		r.list(n, indent)
	case *east.Table:
		r.table(n, indent)
	default:
		r.children(n, indent, false)
	}
}

// children writes the blocks of a container.
func (r *renderer) children(n ast.Node, indent string, apart bool) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if apart && c.PreviousSibling() != nil {
			r.line(indent, "")
		}
		r.block(c, indent)
	}
}

func (r *renderer) list(n *ast.List, indent string) {
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "• "
		if n.IsOrdered() {
			mark = fmt.Sprintf("%d. ", number)
			number++
		}
		inner := &renderer{source: r.source, styled: r.styled}
		inner.children(item, "", !n.IsTight)
		first := true
		for line := range strings.Lines(inner.b.String()) {
			if !first {
				mark = strings.Repeat(" ", uniseg.StringWidth(mark))
			}
			first = false
			r.b.WriteString(indent + mark + line)
		}
		if first {
			r.line(indent, mark)
		}
	}
}

// table writes a table with aligned columns.
func (r *renderer) table(n *east.Table, indent string) {
	plain := &renderer{source: r.source}
	widths := make([]int, len(n.Alignments))
	eachCell(n, func(_, column int, cell ast.Node) {
		widths[column] = max(widths[column], uniseg.StringWidth(plain.inlines(cell)))
	})
	rows := map[int][]string{}
	count := 0
	eachCell(n, func(row, column int, cell ast.Node) {
		shown := r.inlines(cell)
		if row == 0 {
			shown = r.style(bold, plain.inlines(cell))
		}
		space := strings.Repeat(" ", widths[column]-uniseg.StringWidth(plain.inlines(cell)))
		if n.Alignments[column] == east.AlignRight {
			shown = space + shown
		} else {
			shown += space
		}
		rows[row], count = append(rows[row], shown), row+1
	})
	for i := range count {
		r.line(indent, strings.TrimRight(strings.Join(rows[i], "  "), " "))
		if i > 0 {
			continue
		}
		rules := make([]string, len(widths))
		for c, w := range widths {
			rules[c] = strings.Repeat("─", w)
		}
		r.line(indent, r.style(faint, strings.Join(rules, "  ")))
	}
}

// eachCell calls do with the cells of a table.
func eachCell(n *east.Table, do func(row, column int, cell ast.Node)) {
	i := 0
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		column := 0
		for cell := row.FirstChild(); cell != nil && column < len(n.Alignments); cell = cell.NextSibling() {
			do(i, column, cell)
			column++
		}
		i++
	}
}

// inlines returns the rendered text of the inline children of n.
func (r *renderer) inlines(n ast.Node) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		b.WriteString(r.inline(c))
	}
	return b.String()
}

func (r *renderer) inline(n ast.Node) string {
	switch n := n.(type) {
	case *ast.Text:
		value := n.Segment.Value(r.source)
		if !n.IsRaw() {
			value = util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(value)))
		}
		t := escapedLine(string(value))
		if n.HardLineBreak() || n.SoftLineBreak() {
			t += "\n"
		}
		return t
	case *ast.String:
		return escapedLine(string(n.Value))
	case *ast.CodeSpan:
		return r.style(cyan, r.code(n))
	case *ast.Emphasis:
		if n.Level > 1 {
			return r.style(bold, r.inlines(n))
		}
		return r.style(italic, r.inlines(n))
	case *east.Strikethrough:
		return r.style(struck, r.inlines(n))
	case *ast.Link:
		return r.style(underline, r.inlines(n)) + " (" + escapedLine(string(n.Destination)) + ")"
	case *ast.Image:
		return r.inlines(n) + " (" + escapedLine(string(n.Destination)) + ")"
	case *ast.AutoLink:
		return r.style(underline, escapedLine(string(n.URL(r.source))))
	case *ast.RawHTML:
		var b strings.Builder
		for i := range n.Segments.Len() {
			segment := n.Segments.At(i)
			b.WriteString(escapedLine(string(segment.Value(r.source))))
		}
		return b.String()
	default:
		return r.inlines(n)
	}
}

// code returns the text of a code span, in which backslashes are literal.
func (r *renderer) code(n ast.Node) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.WriteString(escapedLine(strings.ReplaceAll(string(t.Segment.Value(r.source)), "\n", " ")))
		}
	}
	return b.String()
}
