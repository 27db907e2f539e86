package edge

import (
	"time"

	"cairn/bus/telemetry"
	"cairn/schemas"
)

// patience is how long all must be late before requests are refused; what is
// late for less catches up.
const patience = time.Second

var errOverload = schemas.ErrUnavailable.Because("more is asked than there is processor time for")

// admitted runs the action of the route while there is processor time. The caller
// is identified before its body is read.
func (x *exchange) admitted() error {
	if x.route.sheds && !x.edge.overload.Open() {
		return overloaded()
	}
	if x.route.public != nil {
		leave, err := x.enterPublic(x.route.public)
		if err != nil {
			return err
		}
		defer leave()
	}
	if err := x.identify(); err != nil {
		return err
	}
	if !x.route.takesBody() {
		x.discardBody()
	}
	return x.route.answer(x)
}

func overloaded() error {
	telemetry.HTTPRefused()
	return errOverload
}
