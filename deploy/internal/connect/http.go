// Package connect contains the flags of the connections of commands, to the HTTP API and to the
// NATS server, and downloads documents from other servers.
package connect

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/edge/client"
	"cairn/schemas"
)

// HTTP holds the flags of a connection to the HTTP API.
type HTTP struct {
	URL string
	// RetryTimeout bounds a request with its retries; 0: client.DefaultRetryTimeout.
	RetryTimeout time.Duration
	// Client is a client with these flags, set before the command runs.
	Client *client.Client
	key    string
	tenant *string // value of --tenant; nil: the command does not have the flag
}

// ScopeUsage ends the usage of --tenant.
const ScopeUsage = "; empty: the tenant of a key of one tenant, otherwise the global scope"

// TenantFlag defines --tenant. Without it, the command has the scope that the server gives requests without a
// tenant: with a key of one tenant that tenant, and otherwise the global scope.
func (c *HTTP) TenantFlag(cmd *cobra.Command, tenant *string, usage string) {
	cmd.Flags().StringVar(tenant, "tenant", "", usage+ScopeUsage)
	c.tenant = tenant
}

// SetScope sets an empty tenant to the scope of the key.
func (c *HTTP) SetScope(ctx context.Context, tenant *string) error {
	if *tenant != "" || c.key == "" {
		return nil
	}
	caller, err := c.Client.Identity(ctx)
	if err == nil {
		*tenant = caller.Scope
	}
	return err
}

// Flags defines --url, --key, --key-file and --context. The command, whose RunE is set, runs with a client, and prints
// the number of its retries at the end.
func (c *HTTP) Flags(cmd *cobra.Command) {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if c.Client, err = c.NewClient(c.RetryTimeout); err != nil {
			return err
		}
		if c.tenant != nil {
			err = c.SetScope(cmd.Context(), c.tenant)
		}
		if err == nil {
			err = run(cmd, args)
		}
		if n := c.Client.Retries(); n > 0 {
			output.Line(cmd.ErrOrStderr(),
				fmt.Sprintf("retries: %d, because the server was overloaded or a connection was lost", n))
		}
		return err
	}
	cmd.Flags().StringVar(&c.URL, "url", client.DefaultURL,
		"`URL` of Cairn, or HOST:PORT; comma-separated list for several edges")
	flags.Secret(cmd.Flags(), &c.key, "key", "", "API `KEY` or OIDC token")
	cmd.Flags().String(flags.Context, "",
		"`NAME` of the context with the values of --url, --key and --tenant; empty: the selected one, unless --url is set")
}

// NewClient returns a client with the values of the flags and the timeout of a request with its retries.
func (c *HTTP) NewClient(retryTimeout time.Duration) (*client.Client, error) {
	made, err := client.New(client.Config{URL: c.URL, Key: c.key, RetryTimeout: retryTimeout})
	return made, flags.Usage(err)
}

// Complete calls list, which collects completions of cmd, with a client for the flags of cmd
// that makes no retries, and a context that ends after flags.CompleteTimeout. It does nothing
// if the flags are invalid.
func Complete(cmd *cobra.Command, list func(context.Context, *client.Client)) {
	if !flags.Prepare(cmd) {
		return
	}
	url, _ := cmd.Flags().GetString("url")
	key, _ := cmd.Flags().GetString("key") // empty if cmd does not have the flag
	made, err := client.New(client.Config{URL: url, Key: key, RetryTimeout: -1})
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), flags.CompleteTimeout)
	defer cancel()
	list(ctx, made)
}

// First returns the first items of a listing, at most limit, and whether there are more. With an error, it returns the
// items before it.
func First[T any](list iter.Seq2[T, error], limit int) (items []T, truncated bool, err error) {
	for item, err := range list {
		if err != nil || len(items) == limit {
			return items, err == nil, err
		}
		items = append(items, item)
	}
	return items, false, nil
}

// Backends returns the backends of the services by name.
func Backends(h schemas.Health, services ...string) map[string]string {
	backends := map[string]string{}
	for _, s := range h.Services {
		if slices.Contains(services, s.Service) {
			maps.Copy(backends, s.Backends)
		}
	}
	return backends
}
