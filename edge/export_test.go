package edge

import (
	"net/http"
	"testing"
	"time"

	"cairn/bus/admission"
)

// NewHandler returns the handler of an edge that Serve does not run.
func NewHandler(t testing.TB, c Config) http.Handler { return newHandler(t.Context(), t.Context(), c) }

// SetStreams sets the bound of event streams.
func (c *Config) SetStreams(p *admission.Pool) { c.streams = p }

// SetKeepAlive replaces defaultKeepAlive.
func (c *Config) SetKeepAlive(d time.Duration) { c.keepAlive = d }
