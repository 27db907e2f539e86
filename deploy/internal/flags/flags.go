// Package flags defines what the flags and arguments of all commands have in common:
// environment variables, contexts, files with secrets, and checks of their values.
package flags

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Variable returns the environment variable of a flag.
func Variable(flag string) string {
	return "CAIRN_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// literal is the annotation of commands whose flags have no environment variables.
const literal = "literal"

// Literal marks a command whose flags are input data, which is not read from environment variables,
// contexts or files.
func Literal(cmd *cobra.Command) *cobra.Command {
	cmd.Annotations = map[string]string{literal: ""}
	return cmd
}

// IsLiteral reports whether cmd is Literal.
func IsLiteral(cmd *cobra.Command) bool {
	_, ok := cmd.Annotations[literal]
	return ok
}

// Document adds the name of its environment variable to the usage of each flag.
func Document(cmd *cobra.Command) {
	if !IsLiteral(cmd) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Usage += " [" + Variable(f.Name) + "]" })
	}
}

// SetUnset sets flags that are not on the command line from their environment variables
// or else from the context, and flags of secrets from the files that contain them.
func SetUnset(cmd *cobra.Command, getenv func(string) string) error {
	if IsLiteral(cmd) {
		return nil
	}
	flags := cmd.Flags()
	if err := fromEnv(flags, getenv); err != nil {
		return Usage(err)
	}
	if err := fromContext(flags, getenv); err != nil {
		return Usage(err)
	}
	return Usage(fromFiles(flags))
}

// fromEnv sets flags that are not on the command line, neither as a value nor as a file,
// from their environment variables. Empty variables are ignored.
func fromEnv(flags *pflag.FlagSet, getenv func(string) string) error {
	given := map[string]bool{} // both flags of a secret
	flags.Visit(func(f *pflag.Flag) {
		name := strings.TrimSuffix(f.Name, fileSuffix)
		given[name], given[name+fileSuffix] = true, true
	})
	var invalid error
	flags.VisitAll(func(f *pflag.Flag) {
		value := getenv(Variable(f.Name))
		if given[f.Name] || value == "" || f.Name == "help" || invalid != nil {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			invalid = fmt.Errorf("environment %s: %w", Variable(f.Name), invalidValue(err))
		}
	})
	return invalid
}

// choice is the value of an enumerated flag.
type choice struct {
	value   *string
	choices []string
}

// Set implements pflag.Value.
func (c choice) Set(text string) error {
	if !slices.Contains(c.choices, text) {
		return fmt.Errorf("expected %s, got %q", Alternatives(c.named()), text)
	}
	*c.value = text
	return nil
}

// named returns the values other than an empty one.
func (c choice) named() []string {
	return slices.DeleteFunc(slices.Clone(c.choices), func(v string) bool { return v == "" })
}

// String implements pflag.Value.
func (c choice) String() string {
	if c.value == nil { // pflag compares with the zero value
		return ""
	}
	return *c.value
}

// Type implements pflag.Value.
func (c choice) Type() string { return "string" }

// Alternatives returns the words as in: a, b or c.
func Alternatives(words []string) string {
	last := len(words) - 1
	return strings.TrimPrefix(strings.Join(words[:last], ", ")+" or "+words[last], " or ")
}

// Choice defines an enumerated flag with completion. The first value is the default.
func Choice(cmd *cobra.Command, p *string, name, short, usage string, values ...string) {
	*p = values[0]
	c := choice{p, values}
	cmd.Flags().VarP(c, name, short, usage)
	if err := cmd.RegisterFlagCompletionFunc(name,
		cobra.FixedCompletions(c.named(), cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is defined above
	}
}

const (
	// CompleteTimeout bounds a request for completions: the shell waits for it.
	CompleteTimeout = time.Second
	// MaxCompletions bounds the number of completions.
	MaxCompletions = 200
)

// Prepare sets unset flags of a command from the environment and the context before its arguments
// are completed. It returns false if they are invalid.
func Prepare(cmd *cobra.Command) bool {
	pre := cmd.Root().PersistentPreRunE
	return pre == nil || pre(cmd, nil) == nil
}

// Output defines --output with the formats; the first is the default.
func Output(cmd *cobra.Command, format *string, formats ...string) {
	Choice(cmd, format, "output", "o", "output `FORMAT`: "+strings.Join(formats, ", "), formats...)
}

// TextFormat is the human-readable format of Text.
const TextFormat = "text"

// Text defines --output of commands that print a response as text, JSON or YAML.
func Text(cmd *cobra.Command, format *string) { Output(cmd, format, TextFormat, "json", "yaml") }
