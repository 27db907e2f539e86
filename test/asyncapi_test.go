package test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/micro"
)

// TestAsyncAPIHasEverySubject compares /asyncapi.json with the endpoints of the workers.
func TestAsyncAPIHasEverySubject(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		var document struct {
			Operations map[string]struct{ Action string }
		}
		if err := json.Unmarshal([]byte(c.do(t, "GET /asyncapi.json", "").body), &document); err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for subject := range document.Operations {
			want = append(want, subject)
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
				if e.Subject != "cairn.render" { // the interface of rendering agents
					got = append(got, e.Subject)
				}
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-document +endpoints):\n%s", diff)
		}
	})
}
