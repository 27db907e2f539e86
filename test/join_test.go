package test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/test/wait"
)

// TestWorkerJoins sends requests while a resolve worker starts: it serves none
// before it has applied the whole catalog. The requests set no minimum revision.
func TestWorkerJoins(t *testing.T) {
	t.Parallel()
	c := newClient(t, start(t, systems(t)[1], setup{workers: [][]string{{"register"}}}))
	nc := c.dial(t)
	c.publish(t, nc, 1000) // enough to observe the catch-up
	if onReal(t) {
		wait.Until(t, "all records are indexed", func() bool {
			h := c.health(t).index() // may be from before the records
			return h.Lag != nil && *h.Lag == 0 && h.Documents["skill"] >= 1000
		})
	}
	args := slices.Clone(c.workers[0].Cmd.Args[1:])
	args[slices.Index(args, "register")] = "resolve"
	for range 3 {
		alone := len(c.workers) == 1
		joining := launch(c.workers[0].Cmd.Path, args...)
		c.workers = append(c.workers, joining)
		wait.Until(t, "the worker serves", func() bool {
			select {
			case <-joining.Exited():
				t.Fatal(joining.WaitReady())
			default:
			}
			serves := joining.Ready()
			c.requireCaughtUp(t, nc, alone && !serves)
			return serves
		})
	}
	for _, p := range c.workers[1:3] {
		p.Terminate()
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
	}
	c.workers = slices.Delete(c.workers, 1, 3)
	c.requireCaughtUp(t, nc, false)
}

// publish writes skills to the catalog directly. The last one has the client's
// word as its purpose and a separate domain.
func (c *client) publish(t testing.TB, nc *nats.Conn, n int) {
	t.Helper()
	js, err := jetstream.New(nc)
	must(t, err)
	for i := range n {
		id, purpose := fmt.Sprintf("$.n%d", i), fmt.Sprintf("description of number %d", i)
		if i == n-1 {
			id, purpose = "$last.one", "$"
		}
		record := c.named(fmt.Sprintf(`{"skill_id":%q,"purpose":%q}`, id, purpose))
		subject := "$KV.cairn_catalog.skill._global." + c.named(id)
		if _, err := js.PublishAsync(subject, []byte(record), jetstream.WithStallWait(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-time.After(time.Minute):
		t.Fatal("the records are not acknowledged")
	}
}

// requireCaughtUp sends requests whose answer depends on the last record. A
// no-responders error is accepted if none is set.
func (c *client) requireCaughtUp(t *testing.T, nc *nats.Conn, none bool) {
	t.Helper()
	for subject, body := range map[string]string{
		"cairn.resolve.skill": `{"query":"$","top_k":1}`,
		"cairn.skills":        `{"domain":"$last"}`,
	} {
		msg, err := nc.Request(subject, []byte(c.named(body)), 10*time.Second)
		switch {
		case errors.Is(err, nats.ErrNoResponders) && none:
		case err != nil:
			t.Fatalf("%s: %v", subject, err)
		case !strings.Contains(string(msg.Data), c.named(`"$last.one"`)):
			t.Fatalf("%s: answered with %s, want the last record in it", subject, truncated(string(msg.Data)))
		}
	}
}
