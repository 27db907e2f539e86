package operations

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"cairn/bus"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
)

// build describes the build of this program.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	System  string `json:"system"`
}

func versionCommand() *cobra.Command {
	format := ""
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  cairn version\n  cairn version -o json",
		Args:    flags.Args("no arguments", 0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := thisBuild()
			return output.Result{Value: b, Table: func(t *output.Table) {
				t.Row("cairn " + b.String())
			}}.Print(cmd.OutOrStdout(), format)
		},
	}
	flags.Text(cmd, &format)
	return cmd
}

// String returns the version, the commit and the system.
func (b build) String() string {
	return strings.Join(append(output.NonEmpty(b.Version, b.Commit), "("+b.Go+", "+b.System+")"), " ")
}

// Build returns the version, the commit and the system of this program.
func Build() string { return thisBuild().String() }

func thisBuild() build {
	b := build{Version: bus.Version, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Commit = s.Value[:min(12, len(s.Value))]
		}
	}
	return b
}
