// Package contexts implements the commands that manage contexts: named connections to Cairn.
package contexts

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/edge/client"
)

// manager implements the subcommands of cairn context.
type manager struct{ getenv func(string) string }

// Command returns the command cairn context. The file of the contexts depends on getenv.
func Command(getenv func(string) string) *cobra.Command {
	m := &manager{getenv}
	cmd := flags.Group(&cobra.Command{
		Use:   "context",
		Short: "Manage contexts: named connections to Cairn",
		Long: `A context has the URL of a Cairn, and optionally a tenant and an API key. Client commands
use the selected context, or that of --context, for flags that are set neither on the
command line nor by a variable. The selected context is ignored when --url is set, so
that no other server receives its key.

Contexts are stored in a file that only its owner can read: cairn/contexts.json in the
configuration directory of the user, or the file that ` + flags.ContextsVariable + ` names.`,
	})
	cmd.AddCommand(m.add(), m.choose(), m.list(), m.remove())
	return cmd
}

// Complete completes the name of a context.
func Complete(getenv func(string) string) cobra.CompletionFunc {
	return complete(getenv, (*flags.Contexts).Names)
}

func complete(getenv func(string) string, values func(*flags.Contexts) []string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		stored, err := flags.ReadContexts(getenv)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return values(stored), cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteTenants completes the tenants of all contexts.
func CompleteTenants(getenv func(string) string) cobra.CompletionFunc {
	return complete(getenv, func(stored *flags.Contexts) (tenants []string) {
		for _, name := range stored.Names() {
			if tenant := stored.Contexts[name].Tenant; tenant != "" && !slices.Contains(tenants, tenant) {
				tenants = append(tenants, tenant)
			}
		}
		return tenants
	})
}

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// change reads the contexts, changes and writes them, and prints a line.
func (m *manager) change(cmd *cobra.Command, do func(*flags.Contexts) (string, error)) error {
	stored, err := flags.ReadContexts(m.getenv)
	if err != nil {
		return err
	}
	text, err := do(stored)
	if err != nil {
		return flags.Usage(err)
	}
	if err := stored.Write(); err != nil {
		return err
	}
	output.Line(cmd.OutOrStdout(), text)
	return nil
}

func (m *manager) add() *cobra.Command {
	var c flags.Connection
	keep := false
	cmd := &cobra.Command{
		Use:   "add NAME --url URL",
		Short: "Add or replace a context and select it",
		Long: `Add stores a context and selects it. The key is stored itself (--key), or is
read from a file or an environment variable (--key-file, --key-env) whenever a command
uses the context.`,
		Example: `  cairn context add prod --url https://cairn.example.com --tenant acme --key-file ~/.cairn-key
  cairn context add local --url 127.0.0.1:8080`,
		Args:              flags.Args("one NAME", 1, 1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := check(args[0], &c); err != nil {
				return flags.UsageError(cmd, err)
			}
			return m.change(cmd, func(stored *flags.Contexts) (string, error) {
				stored.Contexts[args[0]] = c
				if !keep {
					stored.Selected = args[0]
					return "added and selected " + args[0], nil
				}
				return "added " + args[0], nil
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.URL, "url", client.DefaultURL, "`URL` of Cairn, or HOST:PORT; comma-separated list for several edges")
	f.StringVar(&c.Tenant, "tenant", "", "`TENANT` of requests; empty: global scope")
	f.StringVar(&c.Key, "key", "", "API `KEY` or OIDC token to store")
	f.StringVar(&c.KeyFile, "key-file", "", "`FILE` that contains the key, read by each command")
	f.StringVar(&c.KeyEnv, "key-env", "", "`VARIABLE` that contains the key, read by each command")
	f.BoolVar(&keep, "no-select", false, "do not select the context")
	return flags.Literal(cmd)
}

// check validates a context and completes its URL and paths.
func check(name string, c *flags.Connection) error {
	edges, err := client.ParseURLs(c.URL)
	switch {
	case !validName.MatchString(name):
		return fmt.Errorf("NAME: expected letters, digits, dots, - and _, at most 64, got %q", name)
	case err != nil:
		return fmt.Errorf("--url: %w", err)
	case len(output.NonEmpty(c.Key, c.KeyFile, c.KeyEnv)) > 1:
		return errors.New("--key, --key-file and --key-env are mutually exclusive")
	}
	var urls []string
	for _, u := range edges {
		urls = append(urls, u.String())
	}
	c.URL = strings.Join(urls, ",")
	if c.KeyFile != "" {
		c.KeyFile, err = filepath.Abs(c.KeyFile)
	}
	return err
}

func (m *manager) choose() *cobra.Command {
	return &cobra.Command{
		Use:               "select NAME",
		Short:             "Select the context that commands use",
		Example:           "  cairn context select prod",
		Args:              flags.Args("one NAME", 1, 1),
		ValidArgsFunction: Complete(m.getenv),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.change(cmd, func(stored *flags.Contexts) (string, error) {
				c, err := stored.Find(args[0])
				stored.Selected = args[0]
				return output.Joined("selected "+args[0], c.URL, c.Tenant), err
			})
		},
	}
}

func (m *manager) remove() *cobra.Command {
	return &cobra.Command{
		Use:               "rm NAME…",
		Aliases:           []string{"remove", "delete"},
		Short:             "Remove contexts",
		Example:           "  cairn context rm prod",
		Args:              flags.Args("NAMEs", 1, -1),
		ValidArgsFunction: Complete(m.getenv),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.change(cmd, func(stored *flags.Contexts) (string, error) {
				for _, name := range args {
					if _, err := stored.Find(name); err != nil {
						return "", err
					}
					delete(stored.Contexts, name)
					if stored.Selected == name {
						stored.Selected = ""
					}
				}
				return "removed " + strings.Join(args, ", "), nil
			})
		},
	}
}

// shown is a context without its key.
type shown struct {
	Name     string `json:"name"`
	Selected bool   `json:"selected,omitzero"`
	URL      string `json:"url"`
	Tenant   string `json:"tenant,omitzero"`
	Key      string `json:"key,omitzero" doc:"source of the key"`
}

func (m *manager) list() *cobra.Command {
	format := ""
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list", "get"},
		Short:   "List contexts, without their keys",
		Example: "  cairn context ls",
		Args:    flags.Args("no arguments", 0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			stored, err := flags.ReadContexts(m.getenv)
			if err != nil {
				return err
			}
			list := make([]shown, 0, len(stored.Contexts))
			for _, name := range stored.Names() {
				c := stored.Contexts[name]
				list = append(list, shown{name, name == stored.Selected, c.URL, c.Tenant, keySource(c)})
			}
			return output.Result{Value: list, Names: stored.Names(), Table: func(t *output.Table) {
				if len(list) == 0 {
					t.Row("no contexts; add one with: cairn context add NAME --url URL")
					return
				}
				t.Row("", "NAME", "URL", "TENANT", "KEY")
				for _, c := range list {
					mark := ""
					if c.Selected {
						mark = "*"
					}
					t.Row(mark, c.Name, c.URL, c.Tenant, c.Key)
				}
			}}.Print(cmd.OutOrStdout(), format)
		},
	}
	flags.Output(cmd, &format, "table", "json", "yaml", "name")
	return cmd
}

func keySource(c flags.Connection) string {
	switch {
	case c.Key != "":
		return "stored"
	case c.KeyFile != "":
		return "file " + c.KeyFile
	case c.KeyEnv != "":
		return "variable " + c.KeyEnv
	}
	return ""
}
