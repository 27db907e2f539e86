package edge

import (
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"

	"cairn/bus"
	"cairn/schemas"
)

// unregister returns an action that deletes the record in the URL, and names its deleted aliases in a header.
func unregister(e bus.Endpoint[schemas.Unregister, schemas.Unregistered]) action {
	parameters := parametersOf(reflect.TypeFor[schemas.Unregister]())
	a := endpointAction(e)
	a.InURL = true
	a.answer = func(x *exchange) error {
		body, wrong := parameters.read(x.vars, x.r.URL.RawQuery)
		if len(wrong) > 0 {
			return e.Invalid.With(wrong...)
		}
		reply, err := x.send(e.Forward, body)
		if err != nil {
			return err
		}
		var deleted schemas.Unregistered
		_ = json.Unmarshal(reply.Body, &deleted) // of a worker
		if len(deleted.Aliases) > 0 {
			x.w.Header()[bus.HeaderAliases] = []string{strings.Join(deleted.Aliases, ",")}
		}
		x.reply(reply)
		return nil
	}
	return a
}
