package render

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// cells are the lines of a table: its head, its rows, what is left out, and
// its totals.
func (t table) cells() (head []string, lines [][]string) {
	head = append([]string{t.by}, t.metrics...)
	for _, r := range t.rows {
		lines = append(lines, append([]string{t.in.label(r.label)}, t.written(r.figures)...))
	}
	if more := t.groups - len(t.rows); more > 0 {
		lines = append(lines, append([]string{t.in.count(more)}, make([]string, len(t.metrics))...))
	}
	return head, append(lines, append([]string{t.in.words.total}, t.written(t.total)...))
}

func (t table) written(figures []float64) []string {
	var all []string
	for _, f := range figures {
		all = append(all, t.in.figure(f))
	}
	return all
}

// markdown is the table in GitHub's form.
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

// escaped is text that Markdown leaves as it is.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "[", `\[`).Replace(text)
}

// plain is the table in columns.
func (t table) plain() string {
	head, lines := t.cells()
	var b strings.Builder
	fmt.Fprintln(&b, t.title)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, line := range append([][]string{head}, lines...) {
		_, _ = fmt.Fprintln(w, strings.Join(line, "\t")) // a strings.Builder takes all
	}
	_ = w.Flush()
	var trimmed []string
	for line := range strings.Lines(b.String()) {
		trimmed = append(trimmed, strings.TrimRight(line, " \n"))
	}
	return strings.Join(trimmed, "\n")
}
