package edge

import (
	"reflect"

	"github.com/go-json-experiment/json"

	"cairn/bus"
	"cairn/schemas"
)

// registryPath is the path of the API of MCP registries; clients append the rest.
const registryPath = "/v0.1/servers"

// validated is a request that validates itself.
type validated[Req any] interface {
	*Req
	Validate() error
}

// ofTools returns an action that answers a request in the URL from a listing of tools: with
// the result of answer for the page that query requests.
func ofTools[Req, Res any, P validated[Req]](
	summary string, query func(Req) schemas.ListQuery, answer func(Req, schemas.ToolList) (Res, error),
) action {
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
			body, err := json.Marshal(query(req))
			if err != nil {
				return err
			}
			reply, err := x.send(e.Forward, body)
			if err != nil {
				return err
			}
			var page schemas.ToolList
			if err := json.Unmarshal(reply.Body, &page); err != nil {
				return err
			}
			res, err := answer(req, page)
			if err != nil {
				return err
			}
			reply.Body, err = json.Marshal(res)
			if err == nil {
				x.reply(reply)
			}
			return err
		},
	}
}
