// Package ask has the command that asks a question about an estate and prints the answer.
package ask

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"cairn/deploy/internal/client"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/schemas"
)

// ask asks a question about an estate.
type ask struct {
	client.HTTP
	estate string
	mode   string
	json   bool
}

// Command returns the command cairn ask.
func Command() *cobra.Command {
	a := &ask{}
	cmd := &cobra.Command{
		Use:   "ask --estate FILE QUESTION",
		Short: "Ask a question about an estate",
		Long: `Ask sends an estate (a JSON file with arrays of hosts, volumes, networks, …) and a
question, and streams the answer to stdout. Tool calls, which compute its figures, are
printed to stderr. Ctrl-C cancels the analysis on the server too.`,
		Example: `  cairn ask --estate deploy/examples/estate.json "how many hosts are there per site?"
  cairn ask --estate estate.json --mode broad "what is in this estate?"
  inventory | cairn ask --estate - "which hosts run an old kernel?"
  cairn ask --estate estate.json --json "how many volumes?"    # one event per line`,
		Args: flags.Args("one QUESTION", 1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.estate == "" {
				return flags.UsageError(cmd, errors.New("--estate is required: a JSON file, or - for stdin"))
			}
			estate, err := a.read(cmd.InOrStdin())
			if err != nil {
				return err
			}
			question := schemas.Analysis{Query: args[0], Context: string(estate), Target: schemas.TargetH, Mode: a.mode}
			return a.Analyze(cmd.Context(), question, a.printer(cmd.OutOrStdout(), cmd.ErrOrStderr()))
		},
	}
	a.Flags(cmd)
	cmd.Flags().StringVar(&a.estate, "estate", "", "JSON `FILE` of the estate; - is stdin")
	cmd.Flags().StringVar(&a.mode, "mode", schemas.ModeStandard, "analysis `MODE`: standard, or broad for facts only")
	flags.JSON(cmd, &a.json)
	return cmd
}

// read returns the text of the estate without a leading byte order mark.
func (a *ask) read(stdin io.Reader) ([]byte, error) {
	text, err := a.readAll(stdin)
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	switch {
	case err != nil:
		return nil, err
	case len(text) == 0:
		return nil, fmt.Errorf("--estate %s: empty; want JSON", a.estate)
	case !utf8.Valid(text):
		return nil, fmt.Errorf("--estate %s: invalid UTF-8; want JSON", a.estate)
	}
	return text, nil
}

func (a *ask) readAll(stdin io.Reader) ([]byte, error) {
	if a.estate == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(a.estate)
}

// printer returns a function that prints events: as JSON lines with --json, otherwise as
// text on out and tool calls on errOut.
func (a *ask) printer(out, errOut io.Writer) func(client.Event) error {
	var failed error
	if a.json {
		return func(e client.Event) error {
			if e.Kind == schemas.EventError {
				failed = output.ErrReported
			}
			line := struct {
				Event string         `json:"event"`
				Data  jsontext.Value `json:"data"`
			}{e.Kind, e.Data}
			return errors.Join(output.JSONLine(out, line), ended(e, failed))
		}
	}
	p := &reader{out: out, errOut: errOut}
	return func(e client.Event) error {
		if err := p.take(e); err != nil {
			return err
		}
		return ended(e, p.failed)
	}
}
