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

func describe(rows []route) (description, error) {
	types := schemas.NewDefinitions("#/components/schemas/")
	doc, err := document(rows, types)
	if err != nil {
		return description{}, err
	}
	async, err := asyncDocument(rows)
	if err != nil {
		return description{}, err
	}
	d := description{openAPI: doc, asyncAPI: async}
	if d.manual, err = docs.New(bus.Version, docs.Entry{Name: "reference", Title: "HTTP reference"}); err != nil {
		return d, err
	}
	body, err := reference(rows, types)
	if err != nil {
		return d, err
	}
	if d.reference, err = d.manual.Layout("reference", "HTTP reference", body); err != nil {
		return d, err
	}
	d.index, err = manualIndex(d.manual)
	return d, err
}

func openAPI() action {
	return action{open: true, media: "application/json", invalid: schemas.ErrMalformed, answer: func(x *exchange) error {
		d, err := x.edge.describe()
		if err != nil {
			return err
		}
		x.write(http.StatusOK, mediaJSON, d.openAPI)
		return nil
	}}
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
	{schemas.EventUsage, reflect.TypeFor[schemas.Usage]()},
	{schemas.EventError, reflect.TypeFor[schemas.StreamError]()},
	{schemas.EventDone, reflect.TypeFor[schemas.Nothing]()},
}

// document returns the OpenAPI document of the routes and adds their types to types.
func document(rows []route, types *schemas.Definitions) ([]byte, error) {
	paths := object{}
	for _, r := range rows {
		item, ok := paths[r.path].(object)
		if !ok {
			item = object{}
			paths[r.path] = item
		}
		op, err := r.operation(types)
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
	return json.Marshal(object{
		"openapi": "3.1.0",
		"info":    object{"title": "Cairn", "version": bus.Version, "description": "Knowledge and question answering for agents."},
		"servers": []object{{"url": "/"}},
		"paths":   paths,
		"components": object{"schemas": types.Schemas, "parameters": headers, "headers": answerHeaders,
			"securitySchemes": object{"bearer": bearer}},
	}, json.Deterministic(true))
}

var (
	headers = object{
		"RequestID": header(bus.HeaderRequestID, "identifies the request in logs; generated when absent",
			object{"type": "string", "maxLength": 128}),
		"MinRevision": header(bus.HeaderMinRevision,
			"a Cairn-Revision whose write the response must include, or a revision of the current catalog; a revision beyond the last one is rejected with 400, and a token of another catalog is ignored",
			object{"type": "string"}),
		"IfMatch": header(bus.HeaderIfMatch, "write only if the record has one of these entity tags, or * for any record; else 412",
			object{"type": "string"}),
		"IfNoneMatch": header(bus.HeaderIfNoneMatch,
			"read: 304 if the reply has one of these entity tags; write: only if the record has none of them, or * for no record; else 412",
			object{"type": "string"}),
		"LastEventID": header(headerLastEventID, "the id of the last event received; absent: all events",
			object{"type": "integer", "minimum": 0}),
		"LastRevision": header(headerLastEventID, "the id of the last event received, a revision; absent: only changes from now on",
			object{"type": "string"}),
	}
	answerHeaders = object{
		"RequestID": object{"description": "the id of the request in logs", "schema": object{"type": "string"}},
		"Run":       object{"description": "the name of the analysis, used to resume or cancel it", "schema": object{"type": "string"}},
		"Revision":  object{"description": "the consistency token of the write, ID-REVISION with the ID of the catalog", "schema": object{"type": "string"}},
		"ETag":      object{"description": "the entity tag of the record or of the reply", "schema": object{"type": "string"}},
		"IgnoredRevision": object{"description": "the Cairn-Min-Revision of the request, which belongs to another catalog",
			"schema": object{"type": "string"}},
	}
)

// bearer is the security scheme of all routes that are not open.
var bearer = object{
	"type": "http", "scheme": "bearer",
	"description": "An API key or a token of an OpenID provider, whose role has the permission that the operation lists. Not needed when authentication is off.",
}

func header(name, description string, schema object) object {
	return object{"name": name, "in": "header", "description": description, "schema": schema}
}

// group returns the OpenAPI tag of the route.
func (r route) group() string {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.path, "/"), "/")
	switch {
	case r.status == http.StatusNotImplemented:
		return "unimplemented"
	case first == "api":
		return "analysis"
	case first == "watch":
		return "records"
	case first == "skills" || first == "tools":
		return "listings"
	case r.path == mcpPath:
		return "mcp"
	case first == "health" || r.subject == "":
		return "about"
	default:
		return first
	}
}
