package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func jsonFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print the response as JSON")
}

// writeJSON writes v indented.
func writeJSON(w io.Writer, v any) error {
	text, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", text)
	return err
}

// writeLine writes v on one line.
func writeLine(w io.Writer, v any) error {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", text)
	return err
}

// terminal reports whether w is a terminal.
func terminal(w io.Writer) bool {
	f, ok := unescaped(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// writeDimmed writes a line, in faint characters on a terminal.
func writeDimmed(w io.Writer, text string) error {
	text = escapedLine(text)
	if terminal(w) && os.Getenv("NO_COLOR") == "" {
		text = "\x1b[2m" + text + "\x1b[0m"
	}
	_, err := fmt.Fprintln(unescaped(w), text)
	return err
}

// table aligns text in columns.
type table struct {
	out  io.Writer
	text bytes.Buffer
	tabs *tabwriter.Writer
}

func newTable(out io.Writer) *table {
	t := &table{out: out}
	t.tabs = tabwriter.NewWriter(&t.text, 0, 0, 2, ' ', 0)
	return t
}

// row adds a line. A line of one cell does not widen any column.
func (t *table) row(cells ...string) {
	for i, cell := range cells {
		cells[i] = escapedLine(cell)
	}
	_, _ = io.WriteString(t.tabs, strings.Join(cells, "\t")+"\n") // a buffer write cannot fail
}

// write writes the table without trailing spaces.
func (t *table) write() error {
	_ = t.tabs.Flush() // a buffer write cannot fail
	for line := range strings.Lines(t.text.String()) {
		if _, err := io.WriteString(t.out, strings.TrimRight(line, " \n")+"\n"); err != nil {
			return err
		}
	}
	return nil
}
