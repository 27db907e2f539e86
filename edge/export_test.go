package edge

import (
	"net/http"
	"testing"
	"time"

	"cairn/bus/overload"
)

// NewHandler returns the handler of an edge that Serve does not run.
func NewHandler(t testing.TB, c Config) http.Handler { return newHandler(t.Context(), t.Context(), c) }

// SetOverload sets the gate of requests. Serve does not adjust it.
func (c *Config) SetOverload(g *overload.Gate) { c.overload = g }

// SetStreams sets the gate of event streams. Serve does not adjust it.
func (c *Config) SetStreams(g *overload.Gate) { c.streams = g }

// SetKeepAlive replaces defaultKeepAlive.
func (c *Config) SetKeepAlive(d time.Duration) { c.keepAlive = d }
