package render

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// cells returns the header of a table and its lines: rows, the number of omitted groups,
// and totals.
func (t table) cells() (head []string, lines [][]string) {
	head = append([]string{t.by}, t.metrics...)
	for _, r := range t.rows {
		lines = append(lines, append([]string{t.locale.label(r.label)}, t.written(r.figures)...))
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
	head, lines := t.cells()
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n\n| %s |\n|---%s|", escaped(t.title), strings.Join(escapedAll(head), " | "), strings.Repeat("|--:", len(t.metrics)))
	for _, line := range lines {
		fmt.Fprintf(&b, "\n| %s |", strings.Join(escapedAll(line), " | "))
	}
	return b.String()
}

func escapedAll(texts []string) []string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = escaped(text)
	}
	return all
}

// escaped escapes characters that Markdown interprets.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "[", `\[`).Replace(text)
}

// plain formats the table as aligned columns.
func (t table) plain() string {
	head, lines := t.cells()
	var b strings.Builder
	fmt.Fprintln(&b, t.title)
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
