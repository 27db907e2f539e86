package test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/micro"
)

// asyncAPI is an AsyncAPI document.
type asyncAPI struct {
	Operations map[string]struct {
		Action   string
		Reply    *struct{}
		Bindings struct{ NATS struct{ Queue string } }
	}
}

// TestAsyncAPIMatchesEndpoints compares the subjects of /asyncapi.json and their queue groups with
// the endpoints of the workers.
func TestAsyncAPIMatchesEndpoints(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		text := c.do(t, "GET /asyncapi.json", "").body
		var document asyncAPI
		must(t, json.Unmarshal([]byte(text), &document))
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
			must(t, json.Unmarshal(msg.Data, &info))
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
	if operation.Reply == nil {
		t.Errorf("%s has no reply", e.Subject)
	}
}
