package edge

import (
	"time"

	"cairn/bus/telemetry"
	"cairn/schemas"
)

// patience is how long all must be late before requests are refused; what is
// late for less catches up.
const patience = time.Second

// load is how a request counts when processor time is short.
type load int

const (
	light   load = iota // not at all: it shows what is wrong, or goes on with what was begun
	asks                // until it is answered
	streams             // until it is taken: a stream lasts, and needs little
)

var errOverload = schemas.ErrUnavailable.Because("more is asked than there is processor time for")

// admitted runs the action of the route while there is processor time.
func (x *exchange) admitted() error {
	door := x.edge.overload
	switch x.route.load {
	case asks:
		if !door.Enter() {
			return x.overloaded()
		}
		defer door.Leave()
	case streams:
		if !door.Open() {
			return x.overloaded()
		}
	}
	if err := x.identify(); err != nil {
		return err
	}
	return x.route.answer(x)
}

func (x *exchange) overloaded() error {
	telemetry.HTTPRefused()
	return x.unread(errOverload)
}
