package edge

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/bus"
	"cairn/bus/telemetry"
	"cairn/edge/mcp"
	"cairn/schemas"
	"cairn/schemas/member"
)

// maxBody is the largest request body in bytes, except of streams, which have
// their own limit.
const maxBody = bus.MaxBody

// largeReply is the size in bytes above which a reply counts against the memory for
// bodies. Replies of writes, which cannot be refused any more, are smaller.
const largeReply = 64 << 10

// route is a row of the route table.
type route struct {
	method, path string
	action
	status    int
	errors    []*schemas.Error
	telemetry *telemetry.Route
	limits    *anonymousLimiter // of an open route; set by the edge
}

// action is the handler of a route with its request and reply types.
type action struct {
	answer   func(*exchange) error
	open     bool               // needs no credential
	needs    schemas.Permission // that the caller must have; ignored when open
	summary  string             // of the operation, one line
	subject  string             // NATS subject of the same operation; empty: none
	request  reflect.Type       // nil: none
	reply    reflect.Type       // nil: none, or not JSON
	media    string             // media type of the reply; empty: JSON
	changes  bool               // the events are those of a watch, not of an analysis
	inURL    bool               // the request is in the path and the query
	inBody   string             // the member of a request in the URL that is in the body; empty: none
	withETag bool               // the reply has an ETag (see withETag)
	// consistent: the reply includes earlier writes (see consistent).
	consistent bool
	// conditional writes have preconditions (see conditional).
	conditional bool
	discovery   bool           // of Agentic Resource Discovery (see discovery)
	strict      bool           // has strict in the query (see register)
	invalid     *schemas.Error // for a malformed request
	// failure returns the body of an error response; nil: the error as JSON.
	failure func(*schemas.Error) ([]byte, error)
	// translate returns the error in the form of the route's contract; nil: unchanged.
	translate func(*schemas.Error) *schemas.Error
}

// summarized returns the action with the summary.
func (a action) summarized(text string) action {
	a.summary = text
	return a
}

// takesBody reports whether the request, or a part of it, is in the body.
func (r route) takesBody() bool { return r.request != nil && (!r.inURL || r.inBody != "") }

// group returns the OpenAPI tag of the route.
func (r route) group() string {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.path, "/"), "/")
	switch {
	case r.status == http.StatusNotImplemented:
		return "unimplemented"
	case r.discovery:
		return "discovery"
	case first == "api":
		return "analysis"
	case first == "watch", first == "agents":
		return "records"
	case first == "skills" || first == "tools":
		return "listings"
	case r.path == mcpPath:
		return "mcp"
	case first == "a2a", r.path == agentCardPath:
		return "a2a"
	case first == "health" || r.subject == "":
		return "about"
	default:
		return first
	}
}

func get(path string, a action, errors ...*schemas.Error) route {
	return route{http.MethodGet, path, a, http.StatusOK, errors, telemetry.NewRoute(http.MethodGet, path, http.StatusOK), nil}
}

func post(path string, a action, status int, errors ...*schemas.Error) route {
	return route{http.MethodPost, path, a, status, errors, telemetry.NewRoute(http.MethodPost, path, status), nil}
}

func put(path string, a action, status int, errors ...*schemas.Error) route {
	return route{http.MethodPut, path, a, status, errors, telemetry.NewRoute(http.MethodPut, path, status), nil}
}

func remove(path string, a action) route {
	const status = http.StatusNoContent
	return route{http.MethodDelete, path, a, status, nil, telemetry.NewRoute(http.MethodDelete, path, status), nil}
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
	a.strict = true
	a.answer = func(x *exchange) error {
		strict, err := strictParameter(x)
		if err != nil {
			return err
		}
		body, err := x.readBody(maxBody)
		if err != nil {
			return err
		}
		if strict && jsontext.Value(body).IsValid() && jsontext.Value(body).Kind() == jsontext.KindBeginObject { // else the worker rejects it
			if body, err = member.Append(body, member.Member{Name: strictName, Value: true}); err != nil {
				return err
			}
		}
		return relay(x, e, body)
	}
	return a
}

const strictName = "strict"

// strictParameter returns the parameter strict of the query.
func strictParameter(x *exchange) (bool, error) {
	if wrong := checkQuery(x.r.URL.RawQuery); wrong != nil {
		return false, x.route.invalid.With(wrong...)
	}
	switch given := x.r.URL.Query()[strictName]; {
	case len(given) == 0, len(given) == 1 && given[0] == "false":
		return false, nil
	case len(given) == 1 && given[0] == "true":
		return true, nil
	default:
		message := fmt.Sprintf("expected true or false, got %.100q", given)
		return false, x.route.invalid.With(schemas.FieldError{Field: strictName, Message: message})
	}
}

// withoutBody returns an action that sends an empty request to e and ignores the body.
func withoutBody[Res any](e bus.Endpoint[schemas.Nothing, Res]) action {
	a := endpointAction(e)
	a.request = nil
	a.answer = func(x *exchange) error { return relay(x, e, nil) }
	return a
}

// fromURL returns an action that sends the parameters of the path and query to e.
func fromURL[Req, Res any](e bus.Endpoint[Req, Res]) action {
	known := parametersOf(reflect.TypeFor[Req]())
	a := endpointAction(e)
	a.inURL = true
	a.answer = func(x *exchange) error {
		body, wrong := known.read(x.vars, x.r.URL.RawQuery)
		if len(wrong) > 0 {
			return e.Invalid.With(wrong...)
		}
		return relay(x, e, body)
	}
	return a
}

// queryAction returns an action that answers a request in the URL.
func queryAction[Req any](answer func(*exchange, Req) error, reply reflect.Type) action {
	known := parametersOf(reflect.TypeFor[Req]())
	return action{
		needs: schemas.PermissionRead, request: reflect.TypeFor[Req](), reply: reply, inURL: true,
		answer: func(x *exchange) error {
			text, wrong := known.read(x.vars, x.r.URL.RawQuery)
			if len(wrong) > 0 {
				return x.route.invalid.With(wrong...)
			}
			req, err := schemas.Decode[Req](text, x.route.invalid)
			if err != nil {
				return err
			}
			return answer(x, req)
		},
	}
}

// fromURLAndBody returns an action that sends the parameters of the path and query to e,
// with the body as the member of the name.
func fromURLAndBody[Req, Res any](e bus.Endpoint[Req, Res], name string) action {
	known := slices.DeleteFunc(parametersOf(reflect.TypeFor[Req]()), func(p parameter) bool { return p.name == name })
	a := endpointAction(e)
	a.inURL, a.inBody = true, name
	a.answer = func(x *exchange) error {
		request, wrong := known.read(x.vars, x.r.URL.RawQuery)
		if len(wrong) > 0 {
			return e.Invalid.With(wrong...)
		}
		body, err := x.readBody(maxBody)
		if err != nil {
			return err
		}
		if !jsontext.Value(body).IsValid() { // or else it could contain members of the request
			return e.Invalid.Because("the body is not valid JSON; expected an object")
		}
		request = append(request[:len(request)-1], `,"`+name+`":`...)
		return relay(x, e, append(append(request, body...), '}'))
	}
	return a
}

func notImplemented() action {
	return action{needs: schemas.PermissionRead, answer: func(x *exchange) error {
		return schemas.ErrNotImplemented.Because(fmt.Sprintf("%s is reserved by the contract and not implemented in this version", x.route.path))
	}, invalid: schemas.ErrMalformed}
}

func endpointAction[Req, Res any](e bus.Endpoint[Req, Res]) action {
	return action{
		needs: e.Permission, summary: e.Summary, subject: e.Subject, request: reflect.TypeFor[Req](), reply: reflect.TypeFor[Res](),
		invalid: e.Invalid,
	}
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
