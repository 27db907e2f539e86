package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// envName returns the environment variable of a flag.
func envName(flag string) string {
	return "CAIRN_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// documentEnv adds the name of its environment variable to the usage of each flag.
func documentEnv(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) { f.Usage += " [" + envName(f.Name) + "]" })
}

// fromEnv sets flags that are not on the command line from their environment
// variables. Empty variables are ignored.
func fromEnv(flags *pflag.FlagSet, getenv func(string) string) error {
	var wrong error
	flags.VisitAll(func(f *pflag.Flag) {
		value := getenv(envName(f.Name))
		if f.Changed || value == "" || f.Name == "help" || wrong != nil {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			wrong = fmt.Errorf("environment %s: %w", envName(f.Name), err)
		}
	})
	return wrong
}

func jsonFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print the response as JSON")
}
