package test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/micro"
)

// asyncAPI is an AsyncAPI document.
type asyncAPI struct {
	Channels map[string]struct {
		Messages map[string]any
	}
	Operations map[string]struct {
		Action string
		Reply  *struct {
			Channel struct {
				Ref string `json:"$ref"`
			}
		}
		Bindings struct{ NATS struct{ Queue string } }
	}
	Components struct {
		Schemas  map[string]any
		Messages map[string]struct{ Payload map[string]any }
	}
}

// payloads returns the payloads of the messages of a channel other than errors, by name.
func (d asyncAPI) payloads(channel string) map[string]map[string]any {
	all := map[string]map[string]any{}
	for name := range d.Channels[channel].Messages {
		if name != "Error" {
			all[name] = d.Components.Messages[name].Payload
		}
	}
	return all
}

// TestAsyncAPIMatchesEndpoints compares the subjects of /asyncapi.json, their queue groups and the
// schemas of their messages with the endpoints of the workers.
func TestAsyncAPIMatchesEndpoints(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		// The references of endpoints are to $defs.
		text := strings.ReplaceAll(c.do(t, "GET /asyncapi.json", "").body, "#/components/schemas/", "#/$defs/")
		var document asyncAPI
		if err := json.Unmarshal([]byte(text), &document); err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for subject, o := range document.Operations {
			if o.Action == "receive" && subject != "cairn.render" { // its service runs only with --render
				want = append(want, subject)
			}
		}
		nc := c.dial(t)
		for _, service := range []string{"tags", "register", "resolve", "watch", "analyze"} {
			msg, err := nc.Request("$SRV.INFO.cairn-"+service, nil, 10*time.Second)
			if err != nil {
				t.Fatal(service, err)
			}
			var info micro.Info
			if err := json.Unmarshal(msg.Data, &info); err != nil {
				t.Fatal(err)
			}
			for _, e := range info.Endpoints {
				got = append(got, e.Subject)
				document.compare(t, e)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-document +endpoints):\n%s", diff)
		}
	})
}

// compare compares the operation of an endpoint with the description of the endpoint.
func (d asyncAPI) compare(t *testing.T, e micro.EndpointInfo) {
	t.Helper()
	operation := d.Operations[e.Subject]
	if operation.Bindings.NATS.Queue != e.QueueGroup {
		t.Errorf("%s: queue %q, want %q", e.Subject, operation.Bindings.NATS.Queue, e.QueueGroup)
	}
	d.compareMessage(t, e.Subject, d.payloads(e.Subject), e.Metadata["request_schema"])
	if operation.Reply == nil {
		t.Errorf("%s has no reply", e.Subject)
		return
	}
	if schema := e.Metadata["response_schema"]; schema != "" {
		d.compareMessage(t, e.Subject+" reply", d.payloads(strings.TrimPrefix(operation.Reply.Channel.Ref, "#/channels/")),
			schema)
	}
}

// compareMessage compares the only message with the schema of an endpoint.
func (d asyncAPI) compareMessage(t *testing.T, where string, messages map[string]map[string]any, schema string) {
	t.Helper()
	names := slices.Collect(maps.Keys(messages))
	if len(names) != 1 {
		t.Errorf("%s has the messages %v", where, names)
		return
	}
	var want map[string]any
	if err := json.Unmarshal([]byte(schema), &want); err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	definitions, _ := want["$defs"].(map[string]any)
	delete(want, "$defs")
	if names[0] == "Empty" {
		if want["$ref"] != "#/$defs/Nothing" {
			t.Errorf("%s is empty, want %v", where, want)
		}
		return
	}
	if diff := cmp.Diff(want, messages[names[0]]); diff != "" {
		t.Errorf("%s (-endpoint +document):\n%s", where, diff)
	}
	for name, definition := range definitions {
		if diff := cmp.Diff(definition, d.Components.Schemas[name]); diff != "" {
			t.Errorf("%s: %s (-endpoint +document):\n%s", where, name, diff)
		}
	}
}
