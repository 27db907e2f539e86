// Package output prints the results of commands as text, tables, JSON and progress,
// safe for terminals.
package output

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/term"
)

// ErrReported is the error of commands that have printed their failure.
var ErrReported = errors.New("already reported")

// Reported returns an ErrReported that wraps err, which determines the exit code.
func Reported(err error) error { return fmt.Errorf("%w: %w", ErrReported, err) }

// JSON writes v as indented JSON.
func JSON(w io.Writer, v any) error { return writeJSON(w, v, jsontext.WithIndent("  ")) }

// JSONLine writes v as JSON on one line.
func JSONLine(w io.Writer, v any) error { return writeJSON(w, v) }

func writeJSON(w io.Writer, v any, options ...json.Options) error {
	text, err := json.Marshal(v, append(options, json.Deterministic(true))...)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", text)
	return err
}

// IsTerminal reports whether the input or the output of a command is a terminal.
func IsTerminal(stream any) bool {
	if s, ok := stream.(*screen); ok {
		stream = s.Writer
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// SGR parameters of ECMA-48.
const (
	faint      = "2"
	boldYellow = "1;33"
)

// Dimmed writes text as one line, in faint characters if w is a terminal.
func Dimmed(w io.Writer, text string) { styledLine(w, faint, text) }

// Warning writes text as one line, in bold yellow characters if w is a terminal.
func Warning(w io.Writer, text string) { styledLine(w, boldYellow, text) }

func styledLine(w io.Writer, style, text string) {
	text = escapedLine(text)
	if IsTerminal(w) && os.Getenv("NO_COLOR") == "" {
		text = "\x1b[" + style + "m" + text + "\x1b[0m"
	}
	writeUnescaped(w, text+"\n")
}

// Line writes text as one line.
func Line(w io.Writer, text string) {
	_, _ = io.WriteString(w, escapedLine(text)+"\n") // Err returns the error
}

// Name writes the name of a record as one line. If w is not a terminal, bidi characters of the
// name are unchanged, so that other commands accept it.
func Name(w io.Writer, name string) {
	if IsTerminal(w) {
		Line(w, name)
		return
	}
	writeUnescaped(w, escapeIf(name, unicode.IsControl)+"\n")
}

// Lines writes each text as one line.
func Lines(w io.Writer, texts []string) {
	for _, text := range texts {
		Line(w, text)
	}
}

// OneLine returns the text of err without line breaks.
func OneLine(err error) string {
	if text := err.Error(); !strings.Contains(text, "\n") {
		return text
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// Pairs returns each key with its value, sorted by key.
func Pairs(values map[string]string) (list []string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		list = append(list, key+" "+values[key])
	}
	return list
}

// Joined joins the texts that are not empty with two spaces.
func Joined(texts ...string) string { return strings.Join(NonEmpty(texts...), "  ") }

// NonEmpty returns the texts that are not empty.
func NonEmpty(texts ...string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return text == "" })
}
