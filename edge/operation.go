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

var nonWord = regexp.MustCompile(`[^a-z0-9]+`)

// operation generates the OpenAPI operation of a route. It adds the types of the route to types.
type operation struct {
	route
	types   *schemas.Definitions
	secured bool // clients need a credential
}

// object returns the OpenAPI operation.
func (o operation) object() (object, error) {
	op := object{
		"operationId": strings.Trim(nonWord.ReplaceAllString(strings.ToLower(o.method+o.path), "_"), "_"),
		"summary":     o.summary,
		"tags":        []string{o.group()},
	}
	if o.subject != "" {
		op["x-nats-subject"] = o.subject
	}
	switch {
	case o.open:
		op["security"] = []object{}
	case o.secured:
		op["x-permission"] = o.needs
	}
	parameters, err := o.parameters()
	if err != nil {
		return nil, err
	}
	op["parameters"] = parameters
	if o.takesBody() {
		ref, err := o.body()
		if err != nil {
			return nil, err
		}
		op["requestBody"] = object{"required": true, "content": object{o.bodyMedia(): withExample(ref, requestExamples[o.path])}}
	}
	op["responses"], err = o.responses()
	return op, err
}

// body returns the schema of the body.
func (o operation) body() (*jsonschema.Schema, error) {
	ref, err := o.types.Of(o.request)
	if err != nil || o.inBody == "" {
		return ref, err
	}
	body := o.types.Schemas[o.request.Name()].Properties[o.inBody]
	if o.media == mediaLines {
		body = body.Items // one on each line
	}
	return body, nil
}

// content returns the schema of the response, or of one line of it.
func (o operation) content() (*jsonschema.Schema, error) {
	ref, err := o.types.Of(o.reply)
	if err == nil && o.media == mediaLines {
		ref = o.types.Schemas[o.reply.Name()].Properties["results"].Items
	}
	return ref, err
}

func (o operation) bodyMedia() string {
	if o.media == mediaLines {
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

func (o operation) parameters() ([]object, error) {
	list := []object{{"$ref": "#/components/parameters/RequestID"}}
	if o.consistent {
		list = append(list, object{"$ref": "#/components/parameters/MinRevision"})
	}
	if o.conditional {
		list = append(list, object{"$ref": "#/components/parameters/IfMatch"})
	}
	if o.conditional || o.withETag {
		list = append(list, object{"$ref": "#/components/parameters/IfNoneMatch"})
	}
	switch {
	case o.changes:
		list = append(list, object{"$ref": "#/components/parameters/LastRevision"})
	case o.media == mediaEvents && o.inURL:
		list = append(list, object{"$ref": "#/components/parameters/LastEventID"})
	}
	if !o.inURL && !o.strict {
		return append(list, o.pathParameters()...), nil
	}
	if _, err := o.types.Of(o.request); err != nil {
		return nil, err
	}
	if o.strict {
		schema := o.types.Schemas[o.request.Name()].Properties[strictName]
		parameter := object{"name": strictName, "in": "query", "required": false, "description": schema.Description, "schema": schema}
		return append(list, parameter), nil
	}
	for _, p := range parametersOf(o.request) {
		if p.name == o.inBody {
			continue
		}
		schema := o.types.Schemas[o.request.Name()].Properties[p.name]
		in := "query"
		if strings.Contains(o.path, "{"+p.name+"}") {
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
func (o operation) pathParameters() (list []object) {
	for _, match := range pathVariable.FindAllStringSubmatch(o.path, -1) {
		list = append(list, object{"name": match[1], "in": "path", "required": true,
			"schema": object{"type": "string", "minLength": 1, "maxLength": 256}})
	}
	return list
}

func (o operation) responses() (object, error) {
	all := object{"405": object{"$ref": "#/components/responses/MethodNotAllowed"}}
	failure, err := o.types.Of(reflect.TypeFor[schemas.Error]())
	switch {
	case err != nil:
	case o.discovery:
		failure, err = o.types.Of(reflect.TypeFor[schemas.ARDError]())
	}
	if err != nil {
		return nil, err
	}
	o.types.Schemas["Error"].Examples = []any{jsontext.Value(errorExample)}
	for _, e := range o.failures() {
		status := strconv.Itoa(e.Status)
		text := e.Code + " " + e.Title
		if before, ok := all[status].(object); ok {
			text = before["description"].(string) + "; " + text
		}
		all[status] = errorResponse(text, e.Status, failure)
	}
	success, err := o.success()
	if err != nil || success == nil {
		return all, err
	}
	all[strconv.Itoa(o.status)] = success
	if o.reply == reflect.TypeFor[schemas.Health]() {
		all["503"] = success
	}
	if o.withETag {
		all["304"] = object{"description": "The reply with an entity tag of If-None-Match is current", "headers": success["headers"]}
	}
	if o.media == mediaEvents && o.inURL && !o.changes {
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
func (o operation) success() (object, error) {
	head := object{bus.HeaderRequestID: object{"$ref": "#/components/headers/RequestID"}}
	answer := object{"description": o.summary, "headers": head}
	if o.reply != nil && o.reply.Implements(reflect.TypeFor[interface {
		CatalogRevision() schemas.ConsistencyToken
	}]()) {
		head[bus.HeaderRevision] = object{"$ref": "#/components/headers/Revision"}
	}
	if o.consistent {
		head[bus.HeaderIgnoredRevision] = object{"$ref": "#/components/headers/IgnoredRevision"}
	}
	if o.withETag || o.conditional && o.status != http.StatusNoContent {
		head["ETag"] = object{"$ref": "#/components/headers/ETag"}
	}
	switch {
	case o.status == http.StatusNotImplemented:
		return nil, nil
	case o.status == http.StatusNoContent:
	case o.reply != nil:
		ref, err := o.content()
		if err != nil {
			return nil, err
		}
		answer["content"] = object{o.bodyMedia(): withExample(ref, replyExamples[o.reply.Name()])}
		if o.path == mcpPath {
			answer["content"].(object)[mediaEvents] = object{"schema": object{"type": "string"}, "example": messageExample}
		}
	case o.changes:
		answer["content"] = object{o.media: object{"schema": object{"type": "string"}, "example": watchExample}}
		answer["x-events"] = references(watchTypes)
	case o.media == mediaEvents:
		head[bus.HeaderRun] = object{"$ref": "#/components/headers/Run"}
		answer["content"] = object{o.media: object{"schema": object{"type": "string"}, "example": streamExample}}
		answer["x-events"] = references(eventTypes)
	default:
		answer["content"] = object{o.media: object{"schema": textSchema(o.media)}}
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
// an action that takes a body. With secured they include the errors of authentication.
func (o operation) failures() []*schemas.Error {
	list := []*schemas.Error{schemas.ErrMisdirected, o.invalid}
	if o.status == http.StatusNotImplemented {
		list = append(list, schemas.ErrNotImplemented)
	}
	list = append(list, o.errors...)
	if o.conditional {
		list = append(list, schemas.ErrPreconditionFailed)
	}
	if o.takesBody() {
		list = append(list, schemas.ErrTooLarge)
	}
	if o.consistent {
		list = append(list, schemas.ErrResponseTooLarge)
	}
	list = append(list, schemas.ErrForbidden) // for pages of other origins
	if o.secured && !o.open {
		list = append(list, schemas.ErrUnauthenticated)
	}
	list = append(list, schemas.ErrTooManyRequests)
	if o.subject != "" {
		list = append(list, schemas.ErrInternal, schemas.ErrUnavailable, schemas.ErrTimeout)
	}
	if o.translate != nil {
		for i := range list {
			list[i] = o.translate(list[i])
		}
	}
	return list
}
