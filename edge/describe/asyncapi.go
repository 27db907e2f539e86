package describe

import (
	"reflect"

	"github.com/go-json-experiment/json"

	"cairn/bus"
	"cairn/schemas"
)

// streamEvents are the types of the events of each stream, by its subject.
var streamEvents = map[string][]Event{
	bus.Analyze.Subject: Analysis.Events, bus.Watch.Subject: Watch.Events, bus.Render.Subject: renderEvents,
}

// natsServer is the server of all subjects, with the alternatives of authentication.
var natsServer = object{
	"host": "{host}", "protocol": "nats", "description": "The NATS server of Cairn, or the one of --nats",
	"variables": object{"host": object{"default": "127.0.0.1:4222",
		"description": "host and port, as cairn up prints it"}},
	"security": referenceList("#/components/securitySchemes/", []string{"secret", "user", "nkey", "certificate"}),
}

var natsSecurity = object{
	"secret":      object{"type": "apiKey", "in": "user", "description": "the secret of --nats-secret"},
	"user":        object{"type": "userPassword", "description": "a user of the NATS server"},
	"nkey":        object{"type": "asymmetricEncryption", "description": "an NKey seed or a credentials file"},
	"certificate": object{"type": "X509", "description": "a TLS client certificate"},
}

// asyncBuilder is an AsyncAPI document under construction.
type asyncBuilder struct {
	channels, operations, messages object
	types                          *schemas.Definitions
}

// asyncDocument returns the AsyncAPI document of all subjects.
func asyncDocument() ([]byte, error) {
	d := asyncBuilder{object{}, object{}, object{}, schemas.NewDefinitions("#/components/schemas/")}
	for _, o := range bus.Operations() {
		if err := d.add(o); err != nil {
			return nil, err
		}
	}
	return json.Marshal(object{
		"asyncapi":           "3.0.0",
		"info":               object{"title": "Cairn", "version": bus.Version, "description": "The NATS subjects of Cairn."},
		"defaultContentType": "application/json",
		"servers":            object{"nats": natsServer},
		"channels":           d.channels,
		"operations":         d.operations,
		"components":         object{"schemas": d.types.Schemas, "messages": d.messages, "securitySchemes": natsSecurity},
	}, json.Deterministic(true))
}

// add adds the subject: its channel and operation, and for a request a channel for the
// replies, whose subject the client chooses.
func (d asyncBuilder) add(o bus.Operation) error {
	headers := requestHeaders
	if o.Pattern == bus.Announcement {
		headers = object{}
	}
	request, err := d.message(o.Request, headers)
	if err != nil {
		return err
	}
	channel := "#/channels/" + o.Subject
	d.channels[o.Subject] = object{"address": o.Subject,
		"messages": referencesTo("#/components/messages/", []string{request})}
	operation := object{
		"action":   "receive",
		"summary":  o.Summary,
		"channel":  object{"$ref": channel},
		"messages": referenceList(channel+"/messages/", []string{request}),
	}
	d.operations[o.Subject] = operation
	if o.Permission != "" {
		operation["x-permission"] = o.Permission
	}
	if o.Pattern == bus.Announcement {
		operation["action"] = "send"
		return nil
	}
	replies, err := d.replies(o)
	if err != nil {
		return err
	}
	d.channels[o.Subject+".reply"] = object{"address": nil, "messages": referencesTo("#/components/messages/", replies)}
	operation["bindings"] = object{"nats": object{"queue": bus.QueueGroup}}
	operation["reply"] = object{"channel": object{"$ref": channel + ".reply"},
		"messages": referenceList(channel+".reply/messages/", replies)}
	return nil
}

// replies adds the messages of a reply and returns their names.
func (d asyncBuilder) replies(o bus.Operation) ([]string, error) {
	failure, err := d.message(reflect.TypeFor[schemas.Error](), errorHeaders)
	if err != nil {
		return nil, err
	}
	if o.Pattern == bus.RequestReply {
		reply, err := d.message(o.Reply, replyHeaders)
		return []string{reply, failure}, err
	}
	names := []string{failure}
	for _, e := range streamEvents[o.Subject] {
		payload, err := d.types.Of(e.Data)
		if err != nil {
			return nil, err
		}
		name := "event_" + e.Name
		d.messages[name] = object{"name": e.Name, "payload": payload,
			"headers": object{"type": "object", "required": []string{bus.HeaderEvent},
				"properties": object{bus.HeaderEvent: object{"const": e.Name}, bus.HeaderSequence: object{"type": "string"}}}}
		names = append(names, name)
	}
	return names, nil
}

// message adds the message with a payload of the type, or without a payload, and returns its
// name.
func (d asyncBuilder) message(t reflect.Type, headers object) (string, error) {
	if t == nil || t == reflect.TypeFor[schemas.Nothing]() {
		d.messages["Empty"] = object{"name": "Empty", "summary": "No data"}
		return "Empty", nil
	}
	payload, err := d.types.Of(t)
	d.messages[t.Name()] = object{"name": t.Name(), "payload": payload,
		"headers": object{"type": "object", "properties": headers}}
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

// referenceList returns a reference to each of the names below the path.
func referenceList(path string, names []string) []object {
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
		bus.HeaderMessage:     text("why the caller makes a change: one line for the history and the audit log"),
		bus.HeaderIfMatch:     text("precondition of a registration or deletion"),
		bus.HeaderIfNoneMatch: text("precondition of a registration or deletion"),
		bus.HeaderHeartbeat:   text("1: the client expects heartbeats before the reply"),
		"Nats-Msg-Id": text(
			"ID of a write or deletion without precondition, which is performed once within 2 minutes"),
	}
	replyHeaders = object{
		bus.HeaderRevision:        text("consistency token of a registration, a deletion, a record or a listing"),
		bus.HeaderIgnoredRevision: text("tokens of the request that belong to another catalog"),
	}
	errorHeaders = object{
		"Nats-Service-Error-Code": text("HTTP status of the error"),
		"Nats-Service-Error":      text("message of the error"),
		bus.HeaderBusy:            text("this worker has no free slot; another may accept the request"),
	}
)
