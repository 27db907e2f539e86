package edge

import (
	"errors"
	"reflect"

	"github.com/go-json-experiment/json"

	"cairn/bus"
	"cairn/edge/mcp"
	"cairn/edge/registry"
	"cairn/schemas"
)

// registryPath is the path of the API of MCP registries; clients append the rest.
const registryPath = "/v0.1/servers"

// validated is a request that validates itself.
type validated[Req any] interface {
	*Req
	Validate() error
}

// registryAction returns an action that answers a request in the URL from listings of tools.
func registryAction[Req, Res any, P validated[Req]](summary string, answer func(registry.Source, Req) (Res, error)) action {
	e := bus.ListTools
	known := parametersOf(reflect.TypeFor[Req]())
	return action{
		needs: e.Permission, summary: summary, request: reflect.TypeFor[Req](), reply: reflect.TypeFor[Res](), invalid: e.Invalid, inURL: true,
		answer: func(x *exchange) error {
			text, wrong := known.read(x.vars, x.r.URL.RawQuery)
			if len(wrong) > 0 {
				return e.Invalid.With(wrong...)
			}
			var req Req
			if err := json.Unmarshal(text, &req); err != nil {
				return err
			}
			if err := P(&req).Validate(); err != nil {
				return err
			}
			res, err := answer(recordsOf{x}, req)
			if err != nil {
				return err
			}
			body, err := json.Marshal(res)
			if err == nil {
				x.reply(bus.Reply{Body: body})
			}
			return err
		},
	}
}

// recordsOf reads records for the client of a request.
type recordsOf struct{ *exchange }

// Tools implements registry.Source.
func (r recordsOf) Tools(q schemas.ListQuery) (page schemas.ToolList, err error) {
	err = r.call(bus.ListTools.Forward, q, &page)
	return page, err
}

// History implements registry.Source.
func (r recordsOf) History(key schemas.RecordKey) (history schemas.RecordHistory, err error) {
	err = r.call(bus.RecordHistory.Forward, key, &history)
	if errors.Is(err, schemas.ErrRecordNotFound) { // deleted since
		err = nil
	}
	return history, err
}

func (r recordsOf) call(forward mcp.Forward, request, reply any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	answer, err := r.send(forward, body)
	if err != nil {
		return err
	}
	return json.Unmarshal(answer.Body, reply)
}
