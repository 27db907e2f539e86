package edge

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"cairn/bus"
	"cairn/schemas"
)

// asyncAPI returns an action that responds with the AsyncAPI 3.0 description of the NATS
// subjects.
func asyncAPI() action {
	return action{open: true, media: "application/json", invalid: schemas.ErrMalformed, answer: func(x *exchange) error {
		d, err := x.edge.describe()
		if err != nil {
			return err
		}
		x.write(http.StatusOK, mediaJSON, d.asyncAPI)
		return nil
	}}
}

// subjects is an AsyncAPI document under construction.
type subjects struct {
	channels, operations, messages object
	types                          *schemas.Definitions
}

// asyncDocument returns the AsyncAPI document of the routes that have a subject, and of the
// health of each service.
func asyncDocument(rows []route) ([]byte, error) {
	d := subjects{object{}, object{}, object{}, schemas.NewDefinitions("#/components/schemas/")}
	rows = slices.Clone(rows)
	for _, service := range bus.Services() {
		e := bus.Health(service)
		rows = append(rows, route{action: action{subject: e.Subject, summary: e.Summary, reply: reflect.TypeFor[schemas.Health]()}})
	}
	for _, r := range rows {
		if r.subject == "" || strings.Contains(r.subject, "{") || d.channels[r.subject] != nil {
			continue
		}
		if err := d.add(r); err != nil {
			return nil, err
		}
	}
	return json.Marshal(object{
		"asyncapi":           "3.0.0",
		"info":               object{"title": "Cairn", "version": bus.Version, "description": "The NATS subjects of Cairn."},
		"defaultContentType": "application/json",
		"channels":           d.channels,
		"operations":         d.operations,
		"components":         object{"schemas": d.types.Schemas, "messages": d.messages},
	}, json.Deterministic(true))
}

// add adds the subject of the route: a channel, a channel for the replies, whose subject the
// client chooses, and the operation.
func (d subjects) add(r route) error {
	request, err := d.message(r.request, requestHeaders)
	if err != nil {
		return err
	}
	replies, err := d.replies(r)
	if err != nil {
		return err
	}
	channel, reply := "#/channels/"+r.subject, "#/channels/"+r.subject+".reply"
	d.channels[r.subject] = object{"address": r.subject, "messages": referencesTo("#/components/messages/", []string{request})}
	d.channels[r.subject+".reply"] = object{"address": nil, "messages": referencesTo("#/components/messages/", replies)}
	operation := object{
		"action":   "receive",
		"summary":  r.summary,
		"channel":  object{"$ref": channel},
		"messages": listed(channel+"/messages/", []string{request}),
		"bindings": object{"nats": object{"queue": "q"}},
		"reply":    object{"channel": object{"$ref": reply}, "messages": listed(reply+"/messages/", replies)},
	}
	if r.needs != "" {
		operation["x-permission"] = r.needs
	}
	d.operations[r.subject] = operation
	return nil
}

// replies adds the messages of a reply and returns their names.
func (d subjects) replies(r route) ([]string, error) {
	failure, err := d.message(reflect.TypeFor[schemas.Error](), errorHeaders)
	if err != nil {
		return nil, err
	}
	if r.media != mediaEvents {
		reply, err := d.message(r.reply, replyHeaders)
		return []string{reply, failure}, err
	}
	events := eventTypes
	if r.changes {
		events = watchTypes
	}
	names := []string{failure}
	for _, e := range events {
		payload, err := d.types.Of(e.Data)
		if err != nil {
			return nil, err
		}
		name := "event_" + e.Name
		d.messages[name] = object{"name": e.Name, "payload": payload, "headers": object{"type": "object", "required": []string{bus.HeaderEvent},
			"properties": object{bus.HeaderEvent: object{"const": e.Name}, bus.HeaderSequence: object{"type": "string"}}}}
		names = append(names, name)
	}
	return names, nil
}

// message adds the message with a payload of the type, or without a payload, and returns its
// name.
func (d subjects) message(t reflect.Type, headers object) (string, error) {
	if t == nil || t == reflect.TypeFor[schemas.Nothing]() {
		d.messages["Empty"] = object{"name": "Empty", "summary": "No data"}
		return "Empty", nil
	}
	payload, err := d.types.Of(t)
	d.messages[t.Name()] = object{"name": t.Name(), "payload": payload, "headers": object{"type": "object", "properties": headers}}
	return t.Name(), err
}

// referencesTo returns a reference to each of the names below the path, by name.
func referencesTo(path string, names []string) object {
	all := object{}
	for _, name := range names {
		all[name] = object{"$ref": path + name}
	}
	return all
}

// listed returns a reference to each of the names below the path.
func listed(path string, names []string) []object {
	var list []object
	for _, name := range names {
		list = append(list, object{"$ref": path + name})
	}
	return list
}

func text(description string) object { return object{"type": "string", "description": description} }

// The headers of messages; the manual page of the NATS API describes them.
var (
	requestHeaders = object{
		bus.HeaderRequestID:   text("identifies the request in logs and traces"),
		bus.HeaderTimeout:     text("timeout of the caller, as a Go duration such as 5s"),
		bus.HeaderMinRevision: text("consistency tokens that the reply must include, separated by commas"),
		bus.HeaderIfMatch:     text("precondition of a registration or deletion"),
		bus.HeaderIfNoneMatch: text("precondition of a registration or deletion"),
		bus.HeaderHeartbeat:   text("1: the client expects heartbeats before the reply"),
	}
	replyHeaders = object{
		bus.HeaderRevision:        text("consistency token of a registration, a deletion, a record or a listing"),
		bus.HeaderIgnoredRevision: text("tokens of the request that belong to another catalog"),
	}
	errorHeaders = object{
		"Nats-Service-Error-Code": text("HTTP status of the error"),
		"Nats-Service-Error":      text("message of the error"),
		bus.HeaderBusy:            text("this worker is overloaded; another may accept the request"),
	}
)
