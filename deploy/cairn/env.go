package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// twin is the environment variable that sets the flag of the name.
func twin(flag string) string {
	return "CAIRN_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// nameTwins says in the help of each flag how its twin is called.
func nameTwins(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) { f.Usage += " [" + twin(f.Name) + "]" })
}

// fromEnv sets each flag that was not given from its twin, if that says anything.
func fromEnv(flags *pflag.FlagSet, getenv func(string) string) error {
	var wrong error
	flags.VisitAll(func(f *pflag.Flag) {
		value := getenv(twin(f.Name))
		if f.Changed || value == "" || f.Name == "help" || wrong != nil {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			wrong = fmt.Errorf("environment %s: %w", twin(f.Name), err)
		}
	})
	return wrong
}
