package render

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"cairn/services/internal/markdown"
)

// cells returns a table's header and its lines: the rows, the number of omitted
// rows, and the totals. Names are written by text.
func (t table) cells(text func(string) string) (head []string, lines [][]string) {
	head = []string{text(t.by)}
	for _, m := range t.metrics {
		head = append(head, text(m))
	}
	for _, r := range t.rows {
		lines = append(lines, append([]string{text(t.locale.label(r.label))}, t.written(r.figures)...))
	}
	if more := t.groups - len(t.rows); more > 0 {
		lines = append(lines, append([]string{t.locale.count(more)}, make([]string, len(t.metrics))...))
	}
	return head, append(lines, append([]string{t.locale.words.total}, t.written(t.total)...))
}

func (t table) written(figures []float64) []string {
	var all []string
	for _, f := range figures {
		all = append(all, t.locale.figure(f))
	}
	return all
}

// markdown formats the table as GitHub Flavored Markdown.
func (t table) markdown() string {
	head, lines := t.cells(markdown.Escape)
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n\n| %s |\n|---%s|", markdown.Escape(t.title), strings.Join(head, " | "), strings.Repeat("|--:", len(t.metrics)))
	for _, line := range lines {
		fmt.Fprintf(&b, "\n| %s |", strings.Join(line, " | "))
	}
	return b.String()
}

// plain formats the table as aligned columns.
func (t table) plain() string {
	head, lines := t.cells(markdown.Line)
	var b strings.Builder
	fmt.Fprintln(&b, markdown.Line(t.title))
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, line := range append([][]string{head}, lines...) {
		_, _ = fmt.Fprintln(w, strings.Join(line, "\t")) // a strings.Builder never fails
	}
	_ = w.Flush()
	var trimmed []string
	for line := range strings.Lines(b.String()) {
		trimmed = append(trimmed, strings.TrimRight(line, " \n"))
	}
	return strings.Join(trimmed, "\n")
}
