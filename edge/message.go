package edge

import (
	"errors"

	"cairn/bus"
	"cairn/schemas"
)

// withMessage returns the write with the message of the change in Cairn-Message.
func withMessage(a action) action {
	a.Message = true
	answer := a.answer
	a.answer = func(x *exchange) error {
		given := x.r.Header[bus.HeaderMessage]
		if len(given) == 0 {
			return answer(x)
		}
		err := schemas.CheckMessage(given[0])
		if len(given) > 1 {
			err = errors.New("expected one message, got several")
		}
		if err != nil {
			return x.spec.Invalid.With(schemas.FieldError{Field: bus.HeaderMessage, Message: err.Error()})
		}
		x.ctx = bus.WithOrigin(x.ctx, schemas.Origin{Author: schemas.Author{Message: given[0]}})
		return answer(x)
	}
	return a
}
