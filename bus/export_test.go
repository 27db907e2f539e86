package bus

import (
	"github.com/nats-io/nats.go"
)

// Occupy takes a slot of s until release.
func Occupy(s *Service) (release func()) {
	s.admitted.Acquire("", 1)
	return func() { s.admitted.Release("", 1) }
}

// Running returns how many requests of s run, and how many wait for that.
func Running(s *Service) (running int64, queued int) { return s.running.Used(), s.running.Queued() }

// Undelivered returns how many requests of c wait for the end of an outage.
func Undelivered(c *Conn) int64 { return c.outages.waiting.Used() }

// Bulk returns the connection of c for large bodies, which was used before.
func Bulk(c *Conn) *nats.Conn { return c.bulkRequests.nc }
