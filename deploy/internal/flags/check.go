package flags

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ErrUsage marks errors of flags, arguments and input.
var ErrUsage = errors.New("usage")

type usage struct{ error }

func (u usage) Is(target error) bool { return target == ErrUsage }
func (u usage) Unwrap() error        { return u.error }

// Usage marks err as an error of flags, arguments or input. It returns nil for nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return usage{err}
}

// UsageError marks err as an error of flags or arguments, and adds a hint at the help of
// cmd.
func UsageError(cmd *cobra.Command, err error) error {
	return Usage(fmt.Errorf("%w; see: %s --help", err, cmd.CommandPath()))
}

// expectedValues describes the values of a type of flags.
var expectedValues = map[string]string{
	"int": "an integer", "int64": "an integer", "uint64": "an integer of at least 0", "float64": "a number", "bool": "true or false",
	"duration": "a duration such as 90s or 5m",
}

// Expected returns err with the expected value, if err is an error of parsing the value of a flag.
func Expected(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) || expectedValues[invalid.GetFlag().Value.Type()] == "" {
		return err
	}
	f := invalid.GetFlag()
	return fmt.Errorf("--%s: expected %s, got %q", f.Name, expectedValues[f.Value.Type()], invalid.GetValue())
}

// Args returns a check of the number of arguments. A negative most means unlimited.
func Args(what string, least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && (most < 0 || len(args) <= most) {
			return nil
		}
		return UsageError(cmd, fmt.Errorf("expected %s, got %d arguments %q", what, len(args), args))
	}
}

// Group makes cmd a group of commands: without an argument it prints its help; for an
// unknown one, the error suggests similar commands.
func Group(cmd *cobra.Command) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
		cmd.SuggestionsMinimumDistance = max(1, len(args[0])/3) // a distance of 2 fits any word of 3 letters
		if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
			text += "; did you mean " + strings.Join(similar, " or ") + "?"
		}
		return UsageError(cmd, errors.New(text))
	}
	return cmd
}

// AtLeast returns an error if the value of a flag is below least.
func AtLeast[T cmp.Ordered](flag string, value, least T) error {
	if value >= least {
		return nil
	}
	return Usage(fmt.Errorf("--%s: expected at least %v, got %v", flag, least, value))
}

// AtMost returns an error if the value of a flag is above most.
func AtMost[T cmp.Ordered](flag string, value, most T) error {
	if value <= most {
		return nil
	}
	return Usage(fmt.Errorf("--%s: expected at most %v, got %v", flag, most, value))
}

// Paired returns an error if only one of two flags is set.
func Paired(flag, value, other, its string) error {
	if (value == "") == (its == "") {
		return nil
	}
	return Usage(fmt.Errorf("--%s and --%s: expected both or none", flag, other))
}
