package edge

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"cairn/bus"
	"cairn/edge/docs"
	"cairn/schemas"
)

// description holds the OpenAPI document and the manual, generated once from the route table.
type description struct {
	openAPI   []byte
	asyncAPI  []byte
	manual    *docs.Manual
	index     []byte // /docs
	reference []byte // /docs/reference
}

// describe returns the description of the routes; secured: clients need a credential.
func describe(rows []route, secured bool) (description, error) {
	types := schemas.NewDefinitions("#/components/schemas/")
	doc, err := document(rows, types, secured)
	if err != nil {
		return description{}, err
	}
	async, err := asyncDocument()
	if err != nil {
		return description{}, err
	}
	d := description{openAPI: doc, asyncAPI: async}
	if d.manual, err = docs.New(bus.Version, docs.Entry{Name: "reference", Title: "HTTP reference"}); err != nil {
		return d, err
	}
	body, err := reference(rows, types, secured)
	if err != nil {
		return d, err
	}
	if d.reference, err = d.manual.Layout("reference", "HTTP reference", body); err != nil {
		return d, err
	}
	d.index, err = manualIndex(d.manual)
	return d, err
}

// describing returns an action that answers with the description of the routes.
func describing(media string, answer func(*exchange, description) error) action {
	return action{open: true, media: media, invalid: schemas.ErrMalformed, answer: func(x *exchange) error {
		d, err := x.edge.describe()
		if err != nil {
			return err
		}
		return answer(x, d)
	}}
}

func openAPI() action {
	return describing("application/json", func(x *exchange, d description) error {
		x.write(http.StatusOK, mediaJSON, d.openAPI)
		return nil
	})
}

// object is a JSON object.
type object = map[string]any

// eventType is the data type of an event.
type eventType struct {
	Name string
	Data reflect.Type
}

// watchTypes are the types of the events of a watch.
var watchTypes = []eventType{
	{schemas.EventWatching, reflect.TypeFor[schemas.Watching]()},
	{schemas.EventRegistered, reflect.TypeFor[schemas.RecordChange]()},
	{schemas.EventReplaced, reflect.TypeFor[schemas.RecordChange]()},
	{schemas.EventUnmatched, reflect.TypeFor[schemas.RecordChange]()},
	{schemas.EventDeleted, reflect.TypeFor[schemas.RecordChange]()},
	{schemas.EventError, reflect.TypeFor[schemas.StreamError]()},
	{schemas.EventDone, reflect.TypeFor[schemas.Nothing]()},
}

// eventTypes are the types of the events of an analysis.
var eventTypes = []eventType{
	{schemas.EventTextDelta, reflect.TypeFor[schemas.TextDelta]()},
	{schemas.EventToolUse, reflect.TypeFor[schemas.ToolUse]()},
	{schemas.EventToolResult, reflect.TypeFor[schemas.ToolResult]()},
	{schemas.EventDirectResponse, reflect.TypeFor[schemas.DirectResponse]()},
	{schemas.EventProvenance, reflect.TypeFor[schemas.Provenance]()},
	{schemas.EventSuggestions, reflect.TypeFor[schemas.Suggestions]()},
	{schemas.EventUsage, reflect.TypeFor[schemas.Usage]()},
	{schemas.EventError, reflect.TypeFor[schemas.StreamError]()},
	{schemas.EventDone, reflect.TypeFor[schemas.Nothing]()},
}

// document returns the OpenAPI document of the routes and adds their types to types.
func document(rows []route, types *schemas.Definitions, secured bool) ([]byte, error) {
	paths := object{}
	for _, r := range rows {
		item, ok := paths[r.path].(object)
		if !ok {
			item = object{}
			paths[r.path] = item
		}
		op, err := operation{r, types, secured}.object()
		if err != nil {
			return nil, err
		}
		item[strings.ToLower(r.method)] = op
	}
	for _, extra := range slices.Concat(eventTypes, watchTypes) {
		if _, err := types.Of(extra.Data); err != nil {
			return nil, err
		}
	}
	components := object{"schemas": types.Schemas, "parameters": headers, "headers": responseHeaders,
		"responses": object{"MethodNotAllowed": errorResponse(schemas.ErrMethodNotAllowed.Code+" "+schemas.ErrMethodNotAllowed.Title,
			schemas.ErrMethodNotAllowed.Status,
			object{"$ref": "#/components/schemas/Error"})}}
	security := []object{}
	if secured {
		components["securitySchemes"] = object{"bearer": bearer}
		security = append(security, object{"bearer": []string{}})
	}
	return json.Marshal(object{
		"openapi":    "3.1.0",
		"info":       object{"title": "Cairn", "version": bus.Version, "description": "Knowledge and question answering for agents."},
		"servers":    []object{{"url": "/"}},
		"paths":      paths,
		"components": components,
		"security":   security,
		"tags":       groups(rows),
	}, json.Deterministic(true))
}

var (
	headers = object{
		"RequestID": header(bus.HeaderRequestID, "identifies the request in logs; generated when absent",
			stringSchema(1, bus.MaxRequestID, "^[!-~]+$")),
		"MinRevision": header(bus.HeaderMinRevision,
			"a Cairn-Revision whose write the response must include, or a revision of the current catalog; a revision beyond the last one is rejected with 400, and a token of another catalog is ignored",
			tokenText),
		"IfMatch": header(bus.HeaderIfMatch, "write only if the record has one of these entity tags, or * for any record; else 412",
			stringSchema(1, schemas.MaxTags, schemas.TagsPattern)),
		"IfNoneMatch": header(bus.HeaderIfNoneMatch,
			"read: 304 if the reply has one of these entity tags; write: only if the record has none of them, or * for no record; else 412",
			stringSchema(1, schemas.MaxTags, schemas.TagsPattern)),
		"LastEventID": header(headerLastEventID, "the id of the last event received; absent or empty: all events",
			stringSchema(0, 16, lastEventIDPattern)),
		"LastRevision": header(headerLastEventID, "the id of the last event received, a revision; absent or empty: only changes from now on",
			stringSchema(0, schemas.MaxToken, "^$|"+schemas.TokenPattern)),
	}
	responseHeaders = object{
		"RequestID": object{"description": "the id of the request in logs", "schema": stringSchema(1, bus.MaxRequestID, "^[!-~]+$")},
		"Run": object{"description": "the name of the analysis, used to resume or cancel it",
			"schema": stringSchema(1, 64, "^[0-9A-Za-z-]+$")},
		"Revision": object{"description": "the consistency token of the write, ID-REVISION with the ID of the catalog", "schema": tokenText},
		"ETag": object{"description": "the entity tag of the record or of the reply",
			"schema": stringSchema(2, schemas.MaxToken+2, schemas.TagPattern)},
		"IgnoredRevision": object{"description": "the Cairn-Min-Revision of the request, which belongs to another catalog", "schema": tokenText},
		"RetryAfter": object{"description": "seconds to wait before a retry",
			"schema": object{"type": "integer", "minimum": 1, "maximum": maxRetryAfter}},
		"Challenge": object{"description": "the authentication scheme, and with an OpenID provider the URL of the resource metadata",
			"schema": stringSchema(1, 4096, "^Bearer ")},
		"Allow": object{"description": "the methods of the path, separated by commas", "schema": stringSchema(1, 128, "^[A-Z]+(, [A-Z]+)*$")},
	}
	tokenText = stringSchema(1, schemas.MaxToken, schemas.TokenPattern)
)

// stringSchema returns the schema of a string with the bounds and the pattern.
func stringSchema(minimum, maximum int, pattern string) object {
	return object{"type": "string", "minLength": minimum, "maxLength": maximum, "pattern": pattern}
}

// bearer is the security scheme of all routes that are not open.
var bearer = object{
	"type": "http", "scheme": "bearer",
	"description": "An API key or a token of an OpenID provider, whose role has the permission in x-permission of the operation.",
}

func header(name, description string, schema object) object {
	return object{"name": name, "in": "header", "description": description, "schema": schema}
}

// groups returns the OpenAPI tags of the routes.
func groups(rows []route) []object {
	var names []string
	for _, r := range rows {
		names = append(names, r.group())
	}
	slices.Sort(names)
	var list []object
	for _, name := range slices.Compact(names) {
		list = append(list, object{"name": name})
	}
	return list
}
