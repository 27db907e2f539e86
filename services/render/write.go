package render

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// cells are the lines of a table: its head, its rows, what is left out, and
// its totals.
func (t table) cells(in tongue) (head []string, lines [][]string) {
	head = append([]string{t.by}, t.metrics...)
	for _, r := range t.rows {
		lines = append(lines, append([]string{in.label(r.label)}, written(in, r.figures)...))
	}
	if more := t.groups - len(t.rows); more > 0 {
		lines = append(lines, append([]string{in.count(more)}, make([]string, len(t.metrics))...))
	}
	return head, append(lines, append([]string{in.words.total}, written(in, t.total)...))
}

func written(in tongue, figures []float64) []string {
	var all []string
	for _, f := range figures {
		all = append(all, in.figure(f))
	}
	return all
}

// markdown is the table in GitHub's form.
func (t table) markdown(in tongue) string {
	head, lines := t.cells(in)
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n\n| %s |\n|---%s|", escaped(t.array), strings.Join(escapedAll(head), " | "), strings.Repeat("|--:", len(t.metrics)))
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
func (t table) plain(in tongue) string {
	head, lines := t.cells(in)
	var b strings.Builder
	fmt.Fprintln(&b, t.array)
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
