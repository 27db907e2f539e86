// Package connect has the flags of the connections of commands: to the HTTP API and to the
// NATS server.
package connect

import (
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/flags"
	"cairn/edge/client"
	"cairn/schemas"
)

// HTTP holds the flags of a connection to the HTTP API.
type HTTP struct {
	URL string
	// RetryTimeout bounds a request with its retries; 0: client.DefaultRetryTimeout.
	RetryTimeout time.Duration
	key          string
}

// Flags defines --url, --key, --key-file and --context.
func (c *HTTP) Flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.URL, "url", client.DefaultURL, "`URL` of Cairn, or HOST:PORT")
	flags.Secret(cmd.Flags(), &c.key, "key", "", "API `KEY` or OIDC token")
	cmd.Flags().String(flags.Context, "", "`NAME` of the context with the values of --url, --key and --tenant; empty: the selected one, unless --url is set")
}

// Client returns a client with the values of the flags.
func (c *HTTP) Client() (*client.Client, error) {
	made, err := client.New(client.Config{URL: c.URL, Key: c.key, RetryTimeout: c.RetryTimeout})
	return made, flags.Usage(err)
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
