package edge

import (
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"

	"cairn/bus"
	"cairn/schemas"
)

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// operation returns the OpenAPI operation of the route.
func (r route) operation(types *schemas.Definitions, secured bool) (object, error) {
	op := object{
		"operationId": strings.Trim(notInName.ReplaceAllString(strings.ToLower(r.method+r.path), "_"), "_"),
		"summary":     r.summary,
		"tags":        []string{r.group()},
	}
	if r.subject != "" {
		op["x-nats-subject"] = r.subject
	}
	switch {
	case r.open:
		op["security"] = []object{}
	case secured:
		op["x-permission"] = r.needs
	}
	parameters, err := r.parameters(types)
	if err != nil {
		return nil, err
	}
	op["parameters"] = parameters
	if r.takesBody() {
		ref, err := r.body(types)
		if err != nil {
			return nil, err
		}
		op["requestBody"] = object{"required": true, "content": object{r.bodyMedia(): withExample(ref, requestExamples[r.path])}}
	}
	op["responses"], err = r.responses(types, secured)
	return op, err
}

// body returns the schema of the body.
func (r route) body(types *schemas.Definitions) (*jsonschema.Schema, error) {
	ref, err := types.Of(r.request)
	if err != nil || r.inBody == "" {
		return ref, err
	}
	body := types.Schemas[r.request.Name()].Properties[r.inBody]
	if r.media == mediaLines {
		body = body.Items // one on each line
	}
	return body, nil
}

// content returns the schema of the response, or of one line of it.
func (r route) content(types *schemas.Definitions) (*jsonschema.Schema, error) {
	ref, err := types.Of(r.reply)
	if err == nil && r.media == mediaLines {
		ref = types.Schemas[r.reply.Name()].Properties["results"].Items
	}
	return ref, err
}

func (r route) bodyMedia() string {
	if r.media == mediaLines {
		return mediaLines
	}
	return "application/json"
}

func withExample(schema any, example string) object {
	media := object{"schema": schema}
	if example != "" {
		media["example"] = jsontext.Value(example)
	}
	return media
}

func (r route) parameters(types *schemas.Definitions) ([]object, error) {
	list := []object{{"$ref": "#/components/parameters/RequestID"}}
	if r.fresh {
		list = append(list, object{"$ref": "#/components/parameters/MinRevision"})
	}
	if r.conditional {
		list = append(list, object{"$ref": "#/components/parameters/IfMatch"})
	}
	if r.conditional || r.tagged {
		list = append(list, object{"$ref": "#/components/parameters/IfNoneMatch"})
	}
	switch {
	case r.changes:
		list = append(list, object{"$ref": "#/components/parameters/LastRevision"})
	case r.media == mediaEvents && r.inURL:
		list = append(list, object{"$ref": "#/components/parameters/LastEventID"})
	}
	if !r.inURL && !r.strict {
		return append(list, r.pathParameters()...), nil
	}
	if _, err := types.Of(r.request); err != nil {
		return nil, err
	}
	if r.strict {
		schema := types.Schemas[r.request.Name()].Properties[strictName]
		parameter := object{"name": strictName, "in": "query", "required": false, "description": schema.Description, "schema": schema}
		return append(list, parameter), nil
	}
	for _, p := range parametersOf(r.request) {
		if p.name == r.inBody {
			continue
		}
		schema := types.Schemas[r.request.Name()].Properties[p.name]
		in := "query"
		if strings.Contains(r.path, "{"+p.name+"}") {
			in, schema = "path", withoutNull(schema)
		}
		list = append(list, object{"name": p.name, "in": in, "required": in == "path", "description": schema.Description, "schema": schema})
	}
	return list, nil
}

// withoutNull returns the schema of a value in a path, which cannot be null.
func withoutNull(schema *jsonschema.Schema) *jsonschema.Schema {
	if !slices.Contains(schema.Types, "null") {
		return schema
	}
	s := *schema
	s.Types = slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" })
	return &s
}

// pathVariable matches a variable of a path.
var pathVariable = regexp.MustCompile(`\{([a-zA-Z_]+)\}`)

// pathParameters describes the variables in the path of a route whose request does not contain them.
func (r route) pathParameters() (list []object) {
	for _, match := range pathVariable.FindAllStringSubmatch(r.path, -1) {
		list = append(list, object{"name": match[1], "in": "path", "required": true,
			"schema": object{"type": "string", "minLength": 1, "maxLength": 256}})
	}
	return list
}

func (r route) responses(types *schemas.Definitions, secured bool) (object, error) {
	all := object{"405": object{"$ref": "#/components/responses/MethodNotAllowed"}}
	failure, err := types.Of(reflect.TypeFor[schemas.Error]())
	switch {
	case err != nil:
	case r.discovery:
		failure, err = types.Of(reflect.TypeFor[schemas.ARDError]())
	case r.failure != nil:
		failure = &jsonschema.Schema{Type: "object", Required: []string{"error"}, Description: "google.rpc.Status, as A2A has it",
			Properties: map[string]*jsonschema.Schema{"error": {Type: "object"}}}
	}
	if err != nil {
		return nil, err
	}
	types.Schemas["Error"].Examples = []any{jsontext.Value(errorExample)}
	for _, e := range r.failures(secured) {
		status := strconv.Itoa(e.Status)
		text := e.Code + " " + e.Title
		if before, ok := all[status].(object); ok {
			text = before["description"].(string) + "; " + text
		}
		all[status] = errorResponse(text, e.Status, failure)
	}
	success, err := r.success(types)
	if err != nil || success == nil {
		return all, err
	}
	all[strconv.Itoa(r.status)] = success
	if r.reply == reflect.TypeFor[schemas.Health]() {
		all["503"] = success
	}
	if r.tagged {
		all["304"] = object{"description": "The reply with an entity tag of If-None-Match is current", "headers": success["headers"]}
	}
	if r.media == mediaEvents && r.inURL && !r.changes {
		all["204"] = object{"description": "No event follows", "headers": success["headers"]}
	}
	return all, nil
}

// errorResponse returns the OpenAPI response of the errors with the status.
func errorResponse(description string, status int, schema any) object {
	named := map[int]object{
		http.StatusUnauthorized:       {"WWW-Authenticate": object{"$ref": "#/components/headers/Challenge"}},
		http.StatusMethodNotAllowed:   {"Allow": object{"$ref": "#/components/headers/Allow"}},
		http.StatusTooManyRequests:    {"Retry-After": object{"$ref": "#/components/headers/RetryAfter"}},
		http.StatusServiceUnavailable: {"Retry-After": object{"$ref": "#/components/headers/RetryAfter"}},
	}[status]
	head := object{bus.HeaderRequestID: object{"$ref": "#/components/headers/RequestID"}}
	maps.Copy(head, named)
	return object{
		"description": description,
		"headers":     head,
		"content":     object{"application/json": object{"schema": schema}},
	}
}

// success returns the OpenAPI response of success; nil for a route that is not implemented.
func (r route) success(types *schemas.Definitions) (object, error) {
	head := object{bus.HeaderRequestID: object{"$ref": "#/components/headers/RequestID"}}
	answer := object{"description": r.summary, "headers": head}
	if r.reply != nil && r.reply.Implements(reflect.TypeFor[interface {
		CatalogRevision() schemas.ConsistencyToken
	}]()) {
		head[bus.HeaderRevision] = object{"$ref": "#/components/headers/Revision"}
	}
	if r.tagged || r.conditional && r.status != http.StatusNoContent {
		head["ETag"] = object{"$ref": "#/components/headers/ETag"}
	}
	switch {
	case r.status == http.StatusNotImplemented:
		return nil, nil
	case r.status == http.StatusNoContent:
	case r.reply != nil:
		ref, err := r.content(types)
		if err != nil {
			return nil, err
		}
		answer["content"] = object{r.bodyMedia(): withExample(ref, replyExamples[r.reply.Name()])}
		if r.path == mcpPath {
			answer["content"].(object)[mediaEvents] = object{"schema": object{"type": "string"}, "example": messageExample}
		}
	case r.changes:
		answer["content"] = object{r.media: object{"schema": object{"type": "string"}, "example": watchExample}}
		answer["x-events"] = references(watchTypes)
	case r.media == mediaEvents:
		head[bus.HeaderRun] = object{"$ref": "#/components/headers/Run"}
		answer["content"] = object{r.media: object{"schema": object{"type": "string"}, "example": streamExample}}
		answer["x-events"] = references(eventTypes)
	default:
		answer["content"] = object{r.media: object{"schema": textSchema(r.media)}}
	}
	return answer, nil
}

// textSchema returns the schema of a response that is not JSON: a text or, otherwise, bytes.
func textSchema(media string) object {
	switch {
	case strings.HasPrefix(media, "text/"):
		return object{"type": "string"}
	case media == "application/json":
		return object{"type": "object"}
	}
	return object{"type": "string", "format": "binary"}
}

func references(types []eventType) object {
	all := object{}
	for _, e := range types {
		all[e.Name] = object{"$ref": "#/components/schemas/" + e.Data.Name()}
	}
	return all
}

// failures returns the errors of the route and of its action, such as ErrTooLarge for
// an action that takes a body; secured: those of clients without a credential too.
func (r route) failures(secured bool) []*schemas.Error {
	list := []*schemas.Error{schemas.ErrMisdirected, r.invalid}
	if r.status == http.StatusNotImplemented {
		list = append(list, schemas.ErrNotImplemented)
	}
	list = append(list, r.errors...)
	if r.conditional {
		list = append(list, schemas.ErrPreconditionFailed)
	}
	if r.takesBody() {
		list = append(list, schemas.ErrTooLarge)
	}
	list = append(list, schemas.ErrForbidden) // for pages of other origins
	if secured && !r.open {
		list = append(list, schemas.ErrUnauthenticated)
	}
	list = append(list, schemas.ErrTooManyRequests)
	if r.subject != "" {
		list = append(list, schemas.ErrInternal, schemas.ErrUnavailable, schemas.ErrTimeout)
	}
	if r.translate != nil {
		for i := range list {
			list[i] = r.translate(list[i])
		}
	}
	return list
}
