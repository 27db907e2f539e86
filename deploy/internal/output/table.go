package output

import (
	"bytes"
	"io"
	"strings"
	"text/tabwriter"
)

// Table aligns text in columns.
type Table struct {
	out  io.Writer
	text bytes.Buffer
	tabs *tabwriter.Writer
}

// NewTable returns an empty table, which Write writes to out.
func NewTable(out io.Writer) *Table {
	t := &Table{out: out}
	t.tabs = tabwriter.NewWriter(&t.text, 0, 0, 2, ' ', 0)
	return t
}

// Row adds a line. A line of one cell does not widen any column.
func (t *Table) Row(cells ...string) {
	for i, cell := range cells {
		cells[i] = escapedLine(cell)
	}
	_, _ = io.WriteString(t.tabs, strings.Join(cells, "\t")+"\n") // a buffer write cannot fail
}

// Result is what a command prints, by the format of --output.
type Result struct {
	Value any            // json, yaml
	Names []string       // name
	Table func(t *Table) // any other format
}

// Print prints the result.
func (r Result) Print(out io.Writer, format string) error {
	switch format {
	case "json", "yaml":
		return Value(out, format, r.Value)
	case "name":
		Lines(out, r.Names)
		return nil
	}
	t := NewTable(out)
	r.Table(t)
	t.Write()
	return nil
}

// Write writes the table without trailing spaces.
func (t *Table) Write() {
	_ = t.tabs.Flush() // a buffer write cannot fail
	for line := range strings.Lines(t.text.String()) {
		Line(t.out, strings.TrimRight(line, " \n"))
	}
}
