package edge

import (
	"time"

	"cairn/bus/overload"
)

// SetOverload sets the gate of requests. Serve does not adjust it.
func (c *Config) SetOverload(g *overload.Gate) { c.overload = g }

// SetStreams sets the gate of event streams. Serve does not adjust it.
func (c *Config) SetStreams(g *overload.Gate) { c.streams = g }

// SetKeepAlive replaces defaultKeepAlive.
func (c *Config) SetKeepAlive(d time.Duration) { c.keepAlive = d }
