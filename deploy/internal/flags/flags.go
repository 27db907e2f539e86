// Package flags defines what the flags and arguments of all commands have in common:
// environment variables, files with secrets, and checks of their values.
package flags

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Variable returns the environment variable of a flag.
func Variable(flag string) string {
	return "CAIRN_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Document adds the name of its environment variable to the usage of each flag.
func Document(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) { f.Usage += " [" + Variable(f.Name) + "]" })
}

// SetUnset sets flags that are not on the command line from their environment variables,
// and flags of secrets from the files that contain them.
func SetUnset(flags *pflag.FlagSet, getenv func(string) string) error {
	if err := fromEnv(flags, getenv); err != nil {
		return err
	}
	return fromFiles(flags)
}

// fromEnv sets flags that are not on the command line from their environment
// variables. Empty variables are ignored.
func fromEnv(flags *pflag.FlagSet, getenv func(string) string) error {
	var wrong error
	flags.VisitAll(func(f *pflag.Flag) {
		value := getenv(Variable(f.Name))
		if f.Changed || value == "" || f.Name == "help" || wrong != nil {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			wrong = fmt.Errorf("environment %s: %w", Variable(f.Name), err)
		}
	})
	return wrong
}

// JSON defines --json.
func JSON(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print the response as JSON")
}
