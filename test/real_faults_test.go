package test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/test/wait"
)

// recoveryTimeout bounds the time until a system has detected that a backend has
// recovered, which it probes at least every 10 seconds, and has caught up.
const recoveryTimeout = time.Minute

// backends are proxies of the real servers.
type backends struct{ elastic, embedder *proxy }

// faulty is a system whose backends can fail.
type faulty struct {
	*client
	backends
	indices string // prefix of its index names
}

// realBackends starts proxies of both servers and returns a setup that uses them.
func realBackends(t testing.TB) (backends, setup) {
	t.Helper()
	b := backends{newProxy(t, elasticURL()), newProxy(t, os.Getenv(ollamaVariable))}
	return b, setup{
		index: b.elastic.url + "?prefix=" + prefixOf(setup{}),
		embed: ollamaURL(b.embedder.url, "scripted-embed?floor="+scriptedFloor),
	}
}

func (b backends) system(t testing.TB, top topology, s setup) *faulty {
	t.Helper()
	_, prefix, _ := strings.Cut(s.index, "?prefix=")
	return &faulty{newClient(t, start(t, top, s)), b, prefix}
}

// record is a skill with a unique word.
type record struct{ id, word string }

func records(t testing.TB, name string, n int) []record {
	t.Helper()
	list := make([]record, n)
	for i, w := range uniqueWords(t, n) {
		list[i] = record{fmt.Sprintf("$.%s%d", name, i), w}
	}
	return list
}

// outage is a backend failure and the behaviour that is expected meanwhile.
type outage struct {
	mode    mode
	atStart bool
	search  row // search for a record registered before the outage
	late    row // search for a record registered during the outage; status 0: either result
}

var (
	// Without the index, each worker searches the words of its own projection, which
	// includes later records.
	localOnly = row{status: 200, part: `{"degraded":"index-unavailable"}`}
	// Without the embedder, search uses words only.
	textOnly = row{status: 200, part: `{"degraded":"text-only"}`}
	complete = row{status: 200}
	// Later records are not indexed yet.
	notIndexed = row{status: 404, want: "CE-031"}
	either     = row{}
)

func TestRealElasticsearchFaults(t *testing.T) {
	needServers(t)
	t.Parallel()
	for _, o := range []outage{
		{refused, true, localOnly, localOnly}, {hanging, true, localOnly, localOnly},
		{refused, false, localOnly, localOnly}, {closed, false, localOnly, localOnly}, {slow, false, localOnly, localOnly},
		{hanging, false, localOnly, localOnly},
		{full, false, localOnly, localOnly}, {failing, false, localOnly, localOnly}, {halved, false, complete, either},
	} {
		o.run(t, "indexing is delayed", func(b backends) *proxy { return b.elastic })
	}
}

func TestRealEmbedderFaults(t *testing.T) {
	needServers(t)
	t.Parallel()
	for _, o := range []outage{
		{refused, true, textOnly, localOnly}, {hanging, true, textOnly, localOnly}, // no index exists yet
		{refused, false, textOnly, notIndexed}, {closed, false, textOnly, notIndexed}, {slow, false, textOnly, either},
		{hanging, false, textOnly, notIndexed},
		{full, false, textOnly, notIndexed}, {failing, false, textOnly, notIndexed},
	} {
		o.run(t, "search compares words only", func(b backends) *proxy { return b.embedder })
	}
}

// run makes the backend of a separate system fail and recover.
func (o outage) run(t *testing.T, reason string, pick func(backends) *proxy) {
	name := string(o.mode)
	if o.atStart {
		name += " from the start"
	}
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		b, s := realBackends(t)
		fails := pick(b)
		if o.atStart {
			fails.setMode(t, o.mode)
		}
		f := b.system(t, topologies[0], s)
		var old []record
		if !o.atStart {
			old = records(t, "old", 3)
			f.indexed(t, old)
			f.registerAgent(t, old[0])
			fails.setMode(t, o.mode)
		}
		late := records(t, "late", 12)
		f.registerAtOnce(t, late, notYet)
		f.registerAgent(t, late[0])
		f.resolved(t, slices.Concat(old, late))
		wait.Until(t, "the health reports "+reason+", and the index lag", func() bool {
			h := f.health(t)
			behind := h.index().Lag != nil && *h.index().Lag > 0
			return h.Status == "degraded" && strings.Contains(strings.Join(h.Degraded, "\n"), reason) && (behind || o.atStart)
		})
		for _, r := range old {
			f.call(t, "POST /resolve/skill", r.query()).expect(t, o.search.status, o.search.want, o.search.part)
		}
		if !o.atStart {
			f.findsAgent(t, old[0], o.search)
		}
		if o.late.status != 0 {
			f.call(t, "POST /resolve/skill", late[0].query()).expect(t, o.late.status, o.late.want, o.late.part)
		}
		if o.late.status == complete.status {
			f.findsAgent(t, late[0], o.late)
		}
		fails.setMode(t, healthy)
		f.recovered(t, slices.Concat(old, late))
	})
}

// notYet is part of the answer to a registration that is not searchable yet.
const notYet = `{"indexed":false}`

// registerAtOnce registers the records concurrently; each answer contains has.
func (f *faulty) registerAtOnce(t testing.TB, list []record, part string) {
	t.Helper()
	var all sync.WaitGroup
	for _, r := range list {
		all.Go(func() { f.call(t, "POST /register/skill", r.body()).expect(t, 200, "", part) })
	}
	all.Wait()
}

// indexed registers the records and waits until they are indexed.
func (f *faulty) indexed(t testing.TB, list []record) {
	t.Helper()
	f.registerAtOnce(t, list, "")
	f.awaitIndexed(t)
}

// awaitIndexed waits until the system is healthy and the index has caught up.
func (f *faulty) awaitIndexed(t testing.TB) {
	t.Helper()
	wait.Until(t, "healthy, and the index has caught up", func() bool {
		h := f.health(t)
		return h.Status == "ok" && h.caughtUp()
	})
}

// registerAgent registers an agent with the record's word as its capability.
func (f *faulty) registerAgent(t testing.TB, r record) {
	t.Helper()
	body := `{"agent_data":{"agent_id":"` + r.id + `","tenant_id":"$","capabilities":["` + r.word + `"]}}`
	f.call(t, "POST /register/agent", body).expect(t, 200, "", `{"agent_id":"`+r.id+`"}`)
}

// findsAgent searches for the agent of a record and compares the answer with as.
func (f *faulty) findsAgent(t testing.TB, r record, want row) {
	t.Helper()
	a := f.call(t, "POST /resolve/agent", `{"query":"`+r.word+`","tenant_id":"$"}`)
	a.expect(t, 200, "", `{"agent_id":"`+r.id+`"}`)
	a.expect(t, want.status, want.want, want.part)
}

func (r record) body() string {
	return `{"record":{"skill_id":"` + r.id + `","tenant_id":"$","purpose":"` + r.word + `"}}`
}

func (r record) query() string {
	return `{"query":"` + r.word + `","tenant_id":"$","top_k":1}`
}

// resolved reads all records by id, which needs no backend: a read that waited for a failed one would fail.
func (f *faulty) resolved(t testing.TB, list []record) {
	t.Helper()
	for _, r := range list {
		f.call(t, "POST /resolve/skill", `{"skill_id":"`+r.id+`","tenant_id":"$"}`).expect(t, 200, "",
			`{"skill_id":"`+r.id+`"}`)
	}
}

// recovered waits until the index has caught up and contains each record once.
func (f *faulty) recovered(t testing.TB, list []record) {
	t.Helper()
	f.awaitIndexed(t)
	f.resolved(t, list)
	for _, r := range list {
		f.finds(t, r)
	}
	if n := f.documents(t); n != len(list) {
		t.Errorf("the index has %d documents, want %d", n, len(list))
	}
}

// finds searches for a record; the result must not be degraded.
func (f *faulty) finds(t testing.TB, r record) {
	t.Helper()
	a := f.call(t, "POST /resolve/skill", r.query())
	a.expect(t, 200, "", `{"skills":[{"skill_id":"`+r.id+`"}]}`)
	if strings.Contains(a.body, `"degraded"`) {
		t.Errorf("search for %s: %s, want a result that is not degraded", r.id, a.body)
	}
}

// documents returns the number of skills in Elasticsearch.
func (f *faulty) documents(t testing.TB) int {
	t.Helper()
	var answer struct{ Count int }
	a := f.at(elasticURL()).call(t, "GET /"+f.indices+"-skill/_count", "")
	if err := json.Unmarshal([]byte(a.body), &answer); err != nil || a.status != 200 {
		t.Fatalf("count documents: %d %s", a.status, a.body)
	}
	return answer.Count
}

// health is the body of GET /health.
type health struct {
	Status   string
	Degraded []string
	Backends map[string]string
	Index    *indexHealth
	Services []health
}

type indexHealth struct {
	Fingerprint, Live string
	Documents         map[string]int
	Lag               *int
	Quarantined       int
	Records           []struct{ Key, Reason string } `json:"quarantined_records"`
}

func (c *client) health(t testing.TB) (h health) {
	t.Helper()
	var a answer
	wait.Until(t, "the rate limit permits a request", func() bool { // many tests poll from one address
		a = c.call(t, "GET /health", "")
		return a.status != 429
	})
	if err := json.Unmarshal([]byte(a.body), &h); err != nil || a.status != 200 {
		t.Fatalf("health: %d %s", a.status, a.body)
	}
	return h
}

// caughtUp reports whether the index has applied the catalog and is live.
func (h health) caughtUp() bool {
	i := h.index()
	return i.Lag != nil && *i.Lag == 0 && i.Live != "" && i.Live == i.Fingerprint
}

// index returns the index health that the register service reports.
func (h health) index() indexHealth {
	if len(h.Services) > 1 && h.Services[1].Index != nil {
		return *h.Services[1].Index
	}
	return indexHealth{}
}
