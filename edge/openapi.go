package edge

import (
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/bus"
	"cairn/schemas"
)

// description is what the edge says of itself, made from the table of routes.
type description struct {
	openAPI []byte
	page    []byte
}

func describe(rows []route) (description, error) {
	types := schemas.NewDefinitions("#/components/schemas/")
	doc, err := document(rows, types)
	if err != nil {
		return description{}, err
	}
	page, err := page(rows, types)
	return description{doc, page}, err
}

func openAPI() action {
	return action{media: "application/json", invalid: schemas.ErrMalformed, answer: func(x *exchange) error {
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

// eventTypes are what the events of an analysis carry.
var eventTypes = []struct {
	Name string
	Data reflect.Type
}{
	{schemas.EventTextDelta, reflect.TypeFor[schemas.TextDelta]()},
	{schemas.EventToolUse, reflect.TypeFor[schemas.ToolUse]()},
	{schemas.EventToolResult, reflect.TypeFor[schemas.ToolResult]()},
	{schemas.EventDirectResponse, reflect.TypeFor[schemas.DirectResponse]()},
	{schemas.EventUsage, reflect.TypeFor[schemas.Usage]()},
	{schemas.EventError, reflect.TypeFor[schemas.StreamError]()},
	{schemas.EventDone, reflect.TypeFor[schemas.Nothing]()},
}

// document is the OpenAPI document of the routes; types gets all their types.
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
	for _, extra := range eventTypes {
		if _, err := types.Of(extra.Data); err != nil {
			return nil, err
		}
	}
	return json.Marshal(object{
		"openapi":    "3.1.0",
		"info":       object{"title": "Cairn", "version": bus.Version, "description": "Knowledge and question answering for agents."},
		"servers":    []object{{"url": "/"}},
		"paths":      paths,
		"components": object{"schemas": types.Schemas, "parameters": headers, "headers": answerHeaders},
	}, json.Deterministic(true))
}

var (
	headers = object{
		"RequestID":   header(bus.HeaderRequestID, "names the request in logs; made when absent", object{"type": "string", "maxLength": 128}),
		"MinRevision": header(bus.HeaderMinRevision, "the least catalog revision that the answer must have seen", object{"type": "integer", "minimum": 0}),
	}
	answerHeaders = object{
		"RequestID": object{"description": "the request, as logs name it", "schema": object{"type": "string"}},
		"Revision":  object{"description": "the catalog revision that holds what was written", "schema": object{"type": "integer"}},
	}
)

func header(name, description string, schema object) object {
	return object{"name": name, "in": "header", "description": description, "schema": schema}
}

// group is under which heading a route stands.
func (r route) group() string {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.path, "/"), "/")
	switch {
	case r.status == http.StatusNotImplemented:
		return "unimplemented"
	case first == "api":
		return "analysis"
	case first == "skills" || first == "tools":
		return "listings"
	case first == "health" || r.subject == "":
		return "about"
	default:
		return first
	}
}

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

func (r route) operation(types *schemas.Definitions) (object, error) {
	op := object{
		"operationId": strings.Trim(notInName.ReplaceAllString(strings.ToLower(r.method+r.path), "_"), "_"),
		"summary":     r.summary,
		"tags":        []string{r.group()},
	}
	if r.subject != "" {
		op["x-nats-subject"] = r.subject
	}
	parameters, err := r.parameters(types)
	if err != nil {
		return nil, err
	}
	op["parameters"] = parameters
	if r.request != nil && !r.inURL {
		ref, err := types.Of(r.request)
		if err != nil {
			return nil, err
		}
		op["requestBody"] = object{"required": true, "content": object{"application/json": withExample(ref, requestExamples[r.path])}}
	}
	op["responses"], err = r.responses(types)
	return op, err
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
	if !r.inURL {
		return list, nil
	}
	if _, err := types.Of(r.request); err != nil {
		return nil, err
	}
	for _, p := range parametersOf(r.request) {
		schema := types.Schemas[r.request.Name()].Properties[p.name]
		in := "query"
		if strings.Contains(r.path, "{"+p.name+"}") {
			in = "path"
		}
		list = append(list, object{"name": p.name, "in": in, "required": in == "path", "description": schema.Description, "schema": schema})
	}
	return list, nil
}

func (r route) responses(types *schemas.Definitions) (object, error) {
	all := object{}
	failure, err := types.Of(reflect.TypeFor[schemas.Error]())
	if err != nil {
		return nil, err
	}
	for _, e := range r.failures() {
		status := strconv.Itoa(e.Status)
		said := e.Code + " " + e.Title
		if before, ok := all[status].(object); ok {
			said = before["description"].(string) + "; " + said
		}
		all[status] = object{
			"description": said,
			"headers":     object{bus.HeaderRequestID: object{"$ref": "#/components/headers/RequestID"}},
			"content":     object{"application/json": object{"schema": failure}},
		}
	}
	success, err := r.success(types)
	if err != nil || success == nil {
		return all, err
	}
	all[strconv.Itoa(r.status)] = success
	if r.reply == reflect.TypeFor[schemas.Health]() {
		all["503"] = success
	}
	return all, nil
}

// success describes the answer when all goes well; nil for a route on which nothing does.
func (r route) success(types *schemas.Definitions) (object, error) {
	head := object{bus.HeaderRequestID: object{"$ref": "#/components/headers/RequestID"}}
	answer := object{"description": r.summary, "headers": head}
	if r.reply != nil && r.reply.Implements(reflect.TypeFor[interface{ CatalogRevision() uint64 }]()) {
		head[bus.HeaderRevision] = object{"$ref": "#/components/headers/Revision"}
	}
	switch {
	case r.status == http.StatusNotImplemented:
		return nil, nil
	case r.status == http.StatusNoContent:
	case r.reply != nil:
		ref, err := types.Of(r.reply)
		if err != nil {
			return nil, err
		}
		answer["content"] = object{"application/json": object{"schema": ref}}
	case r.media == "text/event-stream":
		answer["content"] = object{r.media: object{"schema": object{"type": "string"}, "example": streamExample}}
		answer["x-events"] = eventReferences()
	default:
		answer["content"] = object{r.media: object{"schema": object{}}}
	}
	return answer, nil
}

func eventReferences() object {
	all := object{}
	for _, e := range eventTypes {
		all[e.Name] = object{"$ref": "#/components/schemas/" + e.Data.Name()}
	}
	return all
}

// failures are the errors that the route can answer with: its own, and those
// that follow from what it does.
func (r route) failures() []*schemas.Error {
	var list []*schemas.Error
	if r.status == http.StatusNotImplemented {
		return []*schemas.Error{schemas.ErrNotImplemented}
	}
	if r.request != nil {
		list = append(list, r.invalid)
	}
	list = append(list, r.errors...)
	if r.request != nil && !r.inURL {
		list = append(list, schemas.ErrTooLarge)
	}
	if r.method != http.MethodGet {
		list = append(list, schemas.ErrForbidden)
	}
	if r.subject != "" {
		list = append(list, schemas.ErrInternal, schemas.ErrUnavailable, schemas.ErrTimeout)
	}
	if r.say != nil {
		for i := range list {
			list[i] = r.say(list[i])
		}
	}
	return list
}
