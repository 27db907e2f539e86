package flags

import (
	"cmp"
	"errors"
	"fmt"

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

// FlagError returns a usage error for an unknown flag, with similar flags, or for an invalid value,
// with the expected values.
func FlagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
		similar := Similar(unknown.GetSpecifiedName(), flagWords(cmd))
		for i := range similar {
			similar[i] = "--" + similar[i]
		}
		return UsageError(cmd, fmt.Errorf("%w%s", err, question(similar)))
	}
	return UsageError(cmd, invalidValue(err))
}

// expected describes the values of flags by their type.
var expected = map[string]string{
	"int": "an integer", "int64": "an integer", "uint64": "an integer of at least 0", "float64": "a number",
	"bool": "true or false", "duration": "a duration such as 10s or 5m",
}

// invalidValue returns the error of the value of a flag without the names of Go functions.
func invalidValue(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	flag := "--" + invalid.GetFlag().Name
	if form, ok := expected[invalid.GetFlag().Value.Type()]; ok {
		return fmt.Errorf("%s: expected %s, got %q", flag, form, invalid.GetValue())
	}
	return fmt.Errorf("%s: %w", flag, invalid.Unwrap())
}

// Args returns a check of the number of arguments. A negative maximum means unlimited.
func Args(form string, minimum, maximum int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= minimum && (maximum < 0 || len(args) <= maximum) {
			return nil
		}
		return UsageError(cmd, fmt.Errorf("expected %s, got %d arguments %q", form, len(args), args))
	}
}

// Group makes cmd a group of commands. Without an argument it prints its help; the error for an
// unknown command suggests similar ones.
func Group(cmd *cobra.Command) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		words := synonymous(cmd, args[0])
		if len(words) == 0 {
			words = Similar(args[0], commandWords(cmd))
		}
		text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
		return UsageError(cmd, errors.New(text+question(words)))
	}
	return cmd
}

// AtLeast returns an error if the value of a flag is below minimum.
func AtLeast[T cmp.Ordered](flag string, value, minimum T) error {
	if value >= minimum {
		return nil
	}
	return Usage(fmt.Errorf("--%s: expected at least %v, got %v", flag, minimum, value))
}

// AtMost returns an error if the value of a flag is above maximum.
func AtMost[T cmp.Ordered](flag string, value, maximum T) error {
	if value <= maximum {
		return nil
	}
	return Usage(fmt.Errorf("--%s: expected at most %v, got %v", flag, maximum, value))
}

// Paired returns an error if only one of two flags is set.
func Paired(flag, value, second, secondValue string) error {
	if (value == "") == (secondValue == "") {
		return nil
	}
	return Usage(fmt.Errorf("--%s and --%s: expected both or none", flag, second))
}
