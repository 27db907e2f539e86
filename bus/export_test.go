package bus

import (
	"github.com/nats-io/nats.go"

	"cairn/bus/admission"
)

// Running returns how many requests of s run.
func Running(s *Service) int64 { return s.gate.Running() }

// Occupy takes a slot of s until release.
func Occupy(s *Service) (release func()) { return s.gate.Admit("").Close }

// BoundWaiting replaces the bound of the requests of s that wait without a slot. It must
// be called before the first request.
func BoundWaiting(s *Service, requests int64) { s.waiting = admission.NewPool(requests) }

// Bulk returns the connection of c for large bodies, which was used before.
func Bulk(c *Conn) *nats.Conn { return c.bulkRequests.nc }
