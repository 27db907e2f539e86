package flags

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"
)

// UsageError adds a hint at the help of cmd to err.
func UsageError(cmd *cobra.Command, err error) error {
	return fmt.Errorf("%w; see: %s --help", err, cmd.CommandPath())
}

// Args returns a check of the number of arguments. A negative most means unlimited.
func Args(what string, least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && (most < 0 || len(args) <= most) {
			return nil
		}
		return UsageError(cmd, fmt.Errorf("want %s, got %d arguments %q", what, len(args), args))
	}
}

// AtLeast returns an error if the value of a flag is below least.
func AtLeast[T cmp.Ordered](flag string, value, least T) error {
	if value >= least {
		return nil
	}
	return fmt.Errorf("--%s: want at least %v, got %v", flag, least, value)
}

// AtMost returns an error if the value of a flag is above most.
func AtMost[T cmp.Ordered](flag string, value, most T) error {
	if value <= most {
		return nil
	}
	return fmt.Errorf("--%s: want at most %v, got %v", flag, most, value)
}

// Paired returns an error if only one of two flags is set.
func Paired(flag, value, other, its string) error {
	if (value == "") == (its == "") {
		return nil
	}
	return fmt.Errorf("--%s and --%s: want both or none", flag, other)
}
