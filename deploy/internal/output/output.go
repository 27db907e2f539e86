// Package output prints what commands report: text, tables, JSON and progress bars, safe
// for terminals.
package output

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// ErrReported is returned by commands that have printed their failure.
var ErrReported = errors.New("already reported")

// JSON writes v as indented JSON.
func JSON(w io.Writer, v any) error {
	text, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", text)
	return err
}

// JSONLine writes v as JSON on one line.
func JSONLine(w io.Writer, v any) error {
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

// Dimmed writes text as one line, in faint characters if w is a terminal.
func Dimmed(w io.Writer, text string) error {
	text = escapedLine(text)
	if terminal(w) && os.Getenv("NO_COLOR") == "" {
		text = "\x1b[2m" + text + "\x1b[0m"
	}
	_, err := fmt.Fprintln(unescaped(w), text)
	return err
}

// Progress returns a progress bar for n steps, which is shown if errOut is a terminal. The
// caller closes it.
func Progress(errOut io.Writer, what string, n int) *progressbar.ProgressBar {
	return progressbar.NewOptions(n,
		progressbar.OptionSetWriter(unescaped(errOut)),
		progressbar.OptionSetVisibility(terminal(errOut)),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionClearOnFinish(),
	)
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

// Redacted returns a comma-separated list of URLs without passwords.
func Redacted(raw string) string {
	list := strings.Split(raw, ",")
	for i, one := range list {
		if u, err := url.Parse(one); err == nil && u.User != nil {
			list[i] = u.Redacted()
		}
	}
	return strings.Join(list, ",")
}
