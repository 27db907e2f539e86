package edge

import (
	"errors"
	"reflect"

	"cairn/bus"
	"cairn/edge/registry"
	"cairn/schemas"
)

// registryPath is the path of the API of MCP registries; clients append the rest.
const registryPath = "/v0.1/servers"

// registryAction returns an action whose request is in the URL, and whose reply is computed from
// listings of tools.
func registryAction[Req, Res any](summary string, answer func(registry.Source, Req) (Res, error)) action {
	a := queryAction(func(x *exchange, req Req) error {
		res, err := answer(recordsOf{x}, req)
		if err != nil {
			return err
		}
		return respond(x, res)
	}, reflect.TypeFor[Res]())
	a.Summary, a.Invalid = summary, schemas.ErrMalformed
	return a
}

// recordsOf reads records for the client of a request.
type recordsOf struct{ *exchange }

// Tools implements registry.Source.
func (r recordsOf) Tools(q schemas.ListQuery) (page schemas.ToolList, err error) {
	_, err = request(r.exchange, bus.ListTools.Forward, q, &page)
	return page, err
}

// History implements registry.Source.
func (r recordsOf) History(key schemas.RecordKey) (history schemas.RecordHistory, err error) {
	_, err = request(r.exchange, bus.RecordHistory.Forward, key, &history)
	if errors.Is(err, schemas.ErrRecordNotFound) { // deleted since
		err = nil
	}
	return history, err
}
