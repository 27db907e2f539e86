package describe

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

// operation generates the OpenAPI operation of a spec. It adds the types of the spec to types.
type operation struct {
	Spec
	types   *schemas.Definitions
	secured bool // clients need a credential
}

// object returns the OpenAPI operation.
func (o operation) object() (object, error) {
	op := object{
		"operationId": strings.Trim(nonWord.ReplaceAllString(strings.ToLower(o.Method+o.Path), "_"), "_"),
		"summary":     o.Summary,
		"tags":        []string{o.group()},
	}
	if o.Subject != "" {
		op["x-nats-subject"] = o.Subject
	}
	switch {
	case o.Open:
		op["security"] = []object{}
	case o.secured:
		op["x-permission"] = o.Permission
	}
	parameters, err := o.parameters()
	if err != nil {
		return nil, err
	}
	op["parameters"] = parameters
	if o.TakesBody() {
		ref, err := o.body()
		if err != nil {
			return nil, err
		}
		op["requestBody"] = object{"required": o.BodyMember == "" || o.requires(o.BodyMember),
			"content": object{o.bodyMedia(): withExample(ref, requestExamples[o.Path])}}
	}
	op["responses"], err = o.responses()
	return op, err
}

// body returns the schema of the body.
func (o operation) body() (*jsonschema.Schema, error) {
	ref, err := o.types.Of(o.Request)
	if err != nil || o.BodyMember == "" {
		return ref, err
	}
	body := o.types.Schemas[o.Request.Name()].Properties[o.BodyMember]
	if o.Media == MediaLines {
		body = body.Items // one on each line
	}
	return body, nil
}

// requires reports whether the request has to have the member.
func (o operation) requires(name string) bool {
	return slices.Contains(o.types.Schemas[o.Request.Name()].Required, name)
}

// content returns the schema of the response, or of one line of it.
func (o operation) content() (*jsonschema.Schema, error) {
	ref, err := o.types.Of(o.Reply)
	if err == nil && o.Media == MediaLines {
		ref = o.types.Schemas[o.Reply.Name()].Properties["results"].Items
	}
	return ref, err
}

func (o operation) bodyMedia() string {
	if o.Media == MediaLines {
		return MediaLines
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
	var list []object
	for _, header := range []struct {
		name  string
		given bool
	}{
		{"RequestID", true}, {"MinRevision", o.Consistent}, {"Message", o.Message}, {"IfMatch", o.Conditional},
		{"IfNoneMatch", o.Conditional || o.ETag}, {"LastRevision", o.Stream == Watch},
		{"LastEventID", o.Stream == Analysis && o.InURL},
	} {
		if header.given {
			list = append(list, object{"$ref": "#/components/parameters/" + header.name})
		}
	}
	if !o.InURL && !o.Strict {
		return list, nil
	}
	if _, err := o.types.Of(o.Request); err != nil {
		return nil, err
	}
	if o.Strict {
		schema := o.types.Schemas[o.Request.Name()].Properties[StrictName]
		parameter := object{"name": StrictName, "in": "query", "required": false, "description": schema.Description,
			"schema": schema}
		return append(list, parameter), nil
	}
	request := o.types.Schemas[o.Request.Name()]
	for _, name := range request.PropertyOrder {
		if name == o.BodyMember {
			continue
		}
		schema := request.Properties[name]
		in := "query"
		if strings.Contains(o.Path, "{"+name+"}") {
			in, schema = "path", withoutNull(schema)
		}
		list = append(list, object{"name": name, "in": in, "required": in == "path", "description": schema.Description,
			"schema": schema})
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

func (o operation) responses() (object, error) {
	all := object{"405": object{"$ref": "#/components/responses/MethodNotAllowed"}}
	failure, err := o.types.Of(reflect.TypeFor[schemas.Error]())
	if err == nil && o.Failure != nil {
		failure, err = o.types.Of(reflect.TypeOf(o.Failure(schemas.ErrInternal)))
	}
	if err != nil {
		return nil, err
	}
	o.types.Schemas["Error"].Examples = []any{jsontext.Value(errorExample)}
	for _, e := range o.Failures(o.secured) {
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
	all[strconv.Itoa(o.Status)] = success
	if o.Reply == reflect.TypeFor[schemas.Health]() {
		all["503"] = success
	}
	if o.ETag {
		all["304"] = object{"description": "The reply with an entity tag of If-None-Match is current",
			"headers": success["headers"]}
	}
	if o.Stream == Analysis && o.InURL {
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
	answer := object{"description": o.Summary, "headers": head}
	if o.Reply != nil && o.Reply.Implements(reflect.TypeFor[interface {
		CatalogRevision() schemas.ConsistencyToken
	}]()) {
		head[bus.HeaderRevision] = object{"$ref": "#/components/headers/Revision"}
	}
	if o.Reply == reflect.TypeFor[schemas.Unregistered]() {
		head[bus.HeaderAliases] = object{"$ref": "#/components/headers/Aliases"}
	}
	if o.Consistent {
		head[bus.HeaderIgnoredRevision] = object{"$ref": "#/components/headers/IgnoredRevision"}
	}
	if o.Request == reflect.TypeFor[schemas.Unregister]() {
		head[bus.HeaderReferrers] = object{"$ref": "#/components/headers/Referrers"}
		head[bus.HeaderReferrerCount] = object{"$ref": "#/components/headers/ReferrerCount"}
	}
	if o.ETag || o.Conditional && o.Status != http.StatusNoContent {
		head["ETag"] = object{"$ref": "#/components/headers/ETag"}
	}
	switch {
	case o.Status == http.StatusNotImplemented:
		return nil, nil
	case o.Status == http.StatusNoContent:
	case o.Reply != nil:
		ref, err := o.content()
		if err != nil {
			return nil, err
		}
		answer["content"] = object{o.bodyMedia(): withExample(ref, replyExamples[o.Reply.Name()])}
		if o.Stream != nil {
			answer["content"].(object)[MediaEvents] = o.Stream.content()
		}
	case o.Stream != nil:
		if o.Stream == Analysis {
			head[bus.HeaderRun] = object{"$ref": "#/components/headers/Run"}
		}
		answer["content"] = object{MediaEvents: o.Stream.content()}
		answer["x-events"] = references(o.Stream.Events)
	default:
		answer["content"] = object{o.Media: object{"schema": textSchema(o.Media)}}
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

func references(types []Event) object {
	all := object{}
	for _, e := range types {
		all[e.Name] = object{"$ref": "#/components/schemas/" + e.Data.Name()}
	}
	return all
}
