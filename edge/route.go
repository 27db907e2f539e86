package edge

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/bus"
	"cairn/bus/telemetry"
	"cairn/edge/describe"
	"cairn/edge/mcp"
	"cairn/schemas"
	"cairn/schemas/member"
)

// maxBody is the largest request body in bytes, except of streams, which have
// their own limit.
const maxBody = bus.MaxBody

// route is a row of the route table.
type route struct {
	action
	telemetry *telemetry.Route
	limits    *anonymousLimiter // of an open route; set by the handler
}

// action is the handler of a route, and the description of its operation.
type action struct {
	describe.Spec

	answer func(*exchange) error
}

// summarized returns the action with the summary.
func (a action) summarized(text string) action {
	a.Summary = text
	return a
}

// newRoute returns the route of the action; errors are those that the contract lists for this route only.
func newRoute(method, path string, a action, status int, errors []*schemas.Error) route {
	a.Method, a.Path, a.Status, a.Errors = method, path, status, errors
	return route{action: a, telemetry: telemetry.NewRoute(method, path, status)}
}

func get(path string, a action, errors ...*schemas.Error) route {
	return newRoute(http.MethodGet, path, a, http.StatusOK, errors)
}

func post(path string, a action, status int, errors ...*schemas.Error) route {
	return newRoute(http.MethodPost, path, a, status, errors)
}

func put(path string, a action, status int, errors ...*schemas.Error) route {
	return newRoute(http.MethodPut, path, a, status, errors)
}

func remove(path string, a action, errors ...*schemas.Error) route {
	return newRoute(http.MethodDelete, path, a, http.StatusNoContent, errors)
}

// specs returns the specs of the routes.
func specs(rows []route) []describe.Spec {
	list := make([]describe.Spec, len(rows))
	for i, r := range rows {
		list[i] = r.Spec
	}
	return list
}

// forward returns an action that sends the request body to e.
func forward[Req, Res any](e bus.Endpoint[Req, Res]) action {
	a := endpointAction(e)
	a.answer = func(x *exchange) error {
		body, err := x.readBody(maxBody)
		if err != nil {
			return err
		}
		return relay(x, e, body)
	}
	return a
}

// register returns an action that sends the request body to e, with strict of the query.
// Other parameters are ignored, as by forward.
func register[Req, Res any](e bus.Endpoint[Req, Res]) action {
	a := endpointAction(e)
	a.Strict = true
	a.answer = func(x *exchange) error {
		strict, err := strictParameter(x)
		if err != nil {
			return err
		}
		body, err := x.readBody(maxBody)
		if err != nil {
			return err
		}
		// else the worker rejects it
		if strict && jsontext.Value(body).IsValid() && jsontext.Value(body).Kind() == jsontext.KindBeginObject {
			if body, err = member.Append(body, member.Member{Name: describe.StrictName, Value: true}); err != nil {
				return err
			}
		}
		return relay(x, e, body)
	}
	return a
}

// strictParameter returns the parameter strict of the query.
func strictParameter(x *exchange) (bool, error) {
	if wrong := checkQuery(x.r.URL.RawQuery); wrong != nil {
		return false, x.spec.Invalid.With(wrong...)
	}
	switch given := x.r.URL.Query()[describe.StrictName]; {
	case len(given) == 0, len(given) == 1 && given[0] == "false":
		return false, nil
	case len(given) == 1 && given[0] == "true":
		return true, nil
	default:
		message := fmt.Sprintf("expected true or false, got %.100q", given)
		return false, x.spec.Invalid.With(schemas.FieldError{Field: describe.StrictName, Message: message})
	}
}

// withoutBody returns an action that sends an empty request to e and ignores the body.
func withoutBody[Res any](e bus.Endpoint[schemas.Nothing, Res]) action {
	a := endpointAction(e)
	a.Request = nil
	a.answer = func(x *exchange) error { return relay(x, e, nil) }
	return a
}

// inURL returns the action with its request in the path and the query, except for the member in the body. answer
// receives it as JSON.
func inURL(spec describe.Spec, answer func(x *exchange, request []byte) error) action {
	spec.InURL = true
	inBody := func(p parameter) bool { return p.name == spec.BodyMember }
	parameters := slices.DeleteFunc(parametersOf(spec.Request), inBody)
	return action{Spec: spec, answer: func(x *exchange) error {
		request, wrong := parameters.read(x.vars, x.r.URL.RawQuery)
		if len(wrong) > 0 {
			return x.spec.Invalid.With(wrong...)
		}
		return answer(x, request)
	}}
}

// fromURL returns an action that sends the parameters of the path and query to e.
func fromURL[Req, Res any](e bus.Endpoint[Req, Res]) action {
	return inURL(endpointAction(e).Spec, func(x *exchange, request []byte) error { return relay(x, e, request) })
}

// queryAction returns an action that answers a request in the URL.
func queryAction[Req any](answer func(*exchange, Req) error, reply reflect.Type) action {
	spec := describe.Spec{Permission: schemas.PermissionRead, Request: reflect.TypeFor[Req](), Reply: reply}
	return inURL(spec, func(x *exchange, text []byte) error {
		req, err := schemas.Decode[Req](text, x.spec.Invalid)
		if err != nil {
			return err
		}
		return answer(x, req)
	})
}

// fromURLAndBody returns an action that sends the parameters of the path and query to e,
// with the body, unless it is empty, as the member of the name.
func fromURLAndBody[Req, Res any](e bus.Endpoint[Req, Res], name string) action {
	spec := endpointAction(e).Spec
	spec.BodyMember = name
	return inURL(spec, func(x *exchange, request []byte) error {
		body, err := x.readBody(maxBody)
		if err != nil {
			return err
		}
		if len(body) == 0 { // the worker decides whether it is optional
			return relay(x, e, request)
		}
		if !jsontext.Value(body).IsValid() { // or else it could contain members of the request
			return e.Invalid.Because("the body is not valid JSON; expected an object")
		}
		request = append(request[:len(request)-1], `,"`+name+`":`...)
		return relay(x, e, append(append(request, body...), '}'))
	})
}

func notImplemented() action {
	return action{
		Spec: describe.Spec{Permission: schemas.PermissionRead, Invalid: schemas.ErrMalformed, Summary: "Not implemented"},
		answer: func(x *exchange) error {
			return schemas.ErrNotImplemented.Because(
				fmt.Sprintf("%s is reserved by the contract and not implemented in this version", x.spec.Path))
		},
	}
}

func endpointAction[Req, Res any](e bus.Endpoint[Req, Res]) action {
	return action{Spec: describe.Spec{
		Permission: e.Permission, Summary: e.Summary, Subject: e.Subject, Request: reflect.TypeFor[Req](),
		Reply:   reflect.TypeFor[Res](),
		Invalid: e.Invalid,
	}}
}

// relay sends the request to e and responds with the reply.
func relay[Req, Res any](x *exchange, e bus.Endpoint[Req, Res], body []byte) error {
	reply, err := x.send(e.Forward, body)
	if err != nil {
		return err
	}
	x.reply(reply)
	return nil
}

// request sends a request to an endpoint and decodes the reply into res.
func request(x *exchange, forward mcp.Forward, req, res any) (bus.Reply, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return bus.Reply{}, err
	}
	reply, err := x.send(forward, body)
	if err != nil {
		return reply, err
	}
	return reply, json.Unmarshal(reply.Body, res)
}

// respond responds with res as JSON.
func respond(x *exchange, res any) error {
	body, err := json.Marshal(res, json.Deterministic(true))
	if err == nil {
		x.reply(bus.Reply{Body: body})
	}
	return err
}
