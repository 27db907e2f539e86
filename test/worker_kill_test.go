package test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cairn/test/cairntest"
	"cairn/test/wait"
)

// TestWorkersKilledUnderLoad kills workers that register and resolve: no
// acknowledged record is lost, and reads meanwhile return the record or a timely 503
// or 504.
func TestWorkersKilledUnderLoad(t *testing.T) {
	t.Parallel()
	c := newClient(t, start(t, systems(t)[1], setup{workers: [][]string{
		{"register"}, {"register"}, {"register"}, {"resolve"}, {"resolve"}, {"resolve"}, {"tags", "analyze"}}}))
	list := records(t, "n", 160)
	var known acknowledged
	wait.Until(t, "a record is registered and searchable", func() bool {
		c.registerUntilAcknowledged(t, list[0], &known)
		return len(known.visible) > 0
	})
	reading, enough := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() { c.read(reading, t, &known) })
	}
	kill := map[int]*cairntest.Process{len(list) / 8: c.workers[3], len(list) / 4: c.workers[0],
		len(list) / 2:     c.workers[4],
		3 * len(list) / 4: c.workers[1]}
	c.load(t, list, &known, func(done int) {
		if dead := kill[done]; dead != nil {
			dead.Kill()
		}
	})
	enough()
	readers.Wait()
	if known.reads.Load() == 0 {
		t.Error("no reads during the kills")
	}
	c.workers = append(c.workers[2:3:3], c.workers[5:]...) // killed processes have no exit code 0
	c.verifyAll(t, list)
}

// acknowledged are the records whose registration was acknowledged.
type acknowledged struct {
	mu      sync.Mutex
	records []record
	visible []record // acknowledged as searchable
	reads   atomic.Int64
}

func (k *acknowledged) add(r record, visible bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.records = append(k.records, r)
	if visible {
		k.visible = append(k.visible, r)
	}
}

// any returns one record to read by id, and one to search for.
func (k *acknowledged) any() (byID, byQuery record) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.records[rand.IntN(len(k.records))], k.visible[rand.IntN(len(k.visible))]
}

// load registers records concurrently with retries, and calls at with the number
// of acknowledged records after each.
func (c *client) load(t *testing.T, list []record, known *acknowledged, at func(done int)) {
	t.Helper()
	next := make(chan record, len(list))
	for _, r := range list {
		next <- r
	}
	close(next)
	var done atomic.Int64
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for r := range next {
				c.registerUntilAcknowledged(t, r, known)
				at(int(done.Add(1)))
			}
		})
	}
	clients.Wait()
}

// registerUntilAcknowledged retries a registration until it is acknowledged.
func (c *client) registerUntilAcknowledged(t *testing.T, r record, known *acknowledged) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		a, err := c.try(ctx, "POST /register/skill", r.body())
		if err == nil && a.status == 200 {
			known.add(r, !strings.Contains(a.body, `"indexed":false`))
			return
		}
	}
	t.Errorf("%s: no registration was acknowledged", r.id)
}

// read reads acknowledged records by id and by search until ctx ends.
func (c *client) read(ctx context.Context, t *testing.T, known *acknowledged) {
	for ctx.Err() == nil {
		one, other := known.any()
		for body, r := range map[string]record{`{"skill_id":"` + one.id + `","tenant_id":"$"}`: one, other.query(): other} {
			a, err := c.try(ctx, "POST /resolve/skill", body)
			if ctx.Err() != nil {
				return
			}
			known.reads.Add(1)
			right := err == nil && (a.status == 200 && strings.Contains(a.body, c.named(`"`+r.id+`"`)) || a.status == 503 ||
				a.status == 504)
			if !right {
				t.Errorf("%s: %v %d %s; want the record, 503, or 504", c.named(body), err, a.status, truncated(a.body))
				return
			}
		}
	}
}

// verifyAll waits until the system is healthy and the index has caught up, and
// finds each record.
func (c *client) verifyAll(t *testing.T, list []record) {
	t.Helper()
	wait.Until(t, "healthy, and the index has caught up", func() bool {
		h := c.health(t)
		i := h.index()
		return h.Status == "ok" && (!onReal(t) || h.caughtUp() && i.Documents["skill"] == len(list))
	})
	for _, r := range list {
		c.call(t, "POST /resolve/skill", `{"skill_id":"`+r.id+`","tenant_id":"$"}`).expect(t, 200, "",
			`{"skill_id":"`+r.id+`"}`)
		c.call(t, "POST /resolve/skill", r.query()).expect(t, 200, "", `{"skills":[{"skill_id":"`+r.id+`"}]}`)
	}
}
