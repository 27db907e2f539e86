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
)

// patient is how long a system may take until it notices that a backend is
// back, and has caught up: it asks every 10 seconds or more often.
const patient = time.Minute

// backends are the real ones, each behind a proxy.
type backends struct{ elastic, embedder *proxy }

// faulty is a system of its own whose backends can fail.
type faulty struct {
	*client
	backends
	indices string // how the names of its indices begin
}

// realBackends are proxies of both servers, and a system's settings with them.
func realBackends(t testing.TB) (backends, setup) {
	t.Helper()
	b := backends{before(t, elasticURL()), before(t, os.Getenv(ollamaVariable))}
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

// record is a skill with a word that no other has.
type record struct{ id, word string }

func records(t testing.TB, name string, n int) []record {
	t.Helper()
	list := make([]record, n)
	for i, w := range made(t, n) {
		list[i] = record{fmt.Sprintf("$.%s%d", name, i), w}
	}
	return list
}

// outage is a way in which a backend fails, and what is left meanwhile.
type outage struct {
	mode    mode
	atStart bool
	search  row // the answer to who searches what was there before
	late    row // and what was registered meanwhile; no status: it depends
}

var (
	// Without the index each worker searches the words of its own records, also
	// of those that came later.
	spare = row{status: 200, has: `{"degraded":"index-away"}`}
	// Without the embedder it is found by its words.
	wordy = row{status: 200, has: `{"degraded":"text-only"}`}
	sound = row{status: 200}
	// What came later is not there yet.
	missed = row{status: 404, want: "CE-031"}
	either = row{}
)

func TestRealFaultsOfElasticsearch(t *testing.T) {
	needServers(t)
	t.Parallel()
	for _, o := range []outage{
		{refused, true, spare, spare}, {hanging, true, spare, spare},
		{refused, false, spare, spare}, {closed, false, spare, spare}, {slow, false, spare, spare}, {hanging, false, spare, spare},
		{full, false, spare, spare}, {failing, false, spare, spare}, {halved, false, sound, either},
	} {
		o.run(t, "new records become searchable later", func(b backends) *proxy { return b.elastic })
	}
}

func TestRealFaultsOfTheEmbedder(t *testing.T) {
	needServers(t)
	t.Parallel()
	for _, o := range []outage{
		{refused, true, wordy, spare}, {hanging, true, wordy, spare}, // there is no index yet
		{refused, false, wordy, missed}, {closed, false, wordy, missed}, {slow, false, wordy, either}, {hanging, false, wordy, missed},
		{full, false, wordy, missed}, {failing, false, wordy, missed},
	} {
		o.run(t, "search compares words only", func(b backends) *proxy { return b.embedder })
	}
}

// run has the backend fail under a system of its own, and come back.
func (o outage) run(t *testing.T, says string, pick func(backends) *proxy) {
	name := string(o.mode)
	if o.atStart {
		name += " from the start"
	}
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		b, s := realBackends(t)
		fails := pick(b)
		if o.atStart {
			fails.turn(t, o.mode)
		}
		f := b.system(t, topologies[0], s)
		var old []record
		if !o.atStart {
			old = records(t, "old", 3)
			f.indexed(t, old)
			f.staffed(t, old[0])
			fails.turn(t, o.mode)
		}
		late := records(t, "late", 12)
		f.registered(t, late, notYet)
		f.staffed(t, late[0])
		f.resolved(t, slices.Concat(old, late))
		soon(t, "the health says that "+says+", and how much is left to be indexed", 5*time.Second, func() bool {
			h := f.health(t)
			behind := h.index().Lag != nil && *h.index().Lag > 0
			return h.Status == "degraded" && strings.Contains(strings.Join(h.Degraded, "\n"), says) && (behind || o.atStart)
		})
		for _, r := range old {
			f.ask(t, "POST /resolve/skill", r.query()).expect(t, o.search.status, o.search.want, o.search.has)
		}
		if !o.atStart {
			f.findsAgent(t, old[0], o.search)
		}
		if o.late.status != 0 {
			f.ask(t, "POST /resolve/skill", late[0].query()).expect(t, o.late.status, o.late.want, o.late.has)
		}
		if o.late.status == sound.status {
			f.findsAgent(t, late[0], o.late)
		}
		fails.turn(t, well)
		f.recovered(t, slices.Concat(old, late))
	})
}

// notYet is in the answer to a registration that is searchable later.
const notYet = `{"indexed":false}`

// registered registers the records at once; each answer has that in it.
func (f *faulty) registered(t testing.TB, list []record, has string) {
	t.Helper()
	var all sync.WaitGroup
	for _, r := range list {
		all.Go(func() { f.ask(t, "POST /register/skill", r.body()).expect(t, 200, "", has) })
	}
	all.Wait()
}

// indexed registers the records and waits until they are in the index, however
// long it takes a busy server to make one.
func (f *faulty) indexed(t testing.TB, list []record) {
	t.Helper()
	f.registered(t, list, "")
	f.drained(t)
}

// drained waits until all is well and nothing is left to be indexed.
func (f *faulty) drained(t testing.TB) {
	t.Helper()
	soon(t, "all is well and nothing is left to be indexed", patient, func() bool {
		h := f.health(t)
		return h.Status == "ok" && h.level()
	})
}

// staffed registers an agent that can do what the record is for.
func (f *faulty) staffed(t testing.TB, r record) {
	t.Helper()
	body := `{"agent_data":{"agent_id":"` + r.id + `","tenant_id":"$","capabilities":["` + r.word + `"]}}`
	f.ask(t, "POST /register/agent", body).expect(t, 200, "", `{"agent_id":"`+r.id+`"}`)
}

// findsAgent searches for the agent of a record, as the row expects.
func (f *faulty) findsAgent(t testing.TB, r record, as row) {
	t.Helper()
	a := f.ask(t, "POST /resolve/agent", `{"query":"`+r.word+`","tenant_id":"$"}`)
	a.expect(t, 200, "", `{"agent_id":"`+r.id+`"}`)
	a.expect(t, as.status, as.want, as.has)
}

func (r record) body() string {
	return `{"record":{"skill_id":"` + r.id + `","tenant_id":"$","purpose":"` + r.word + `"}}`
}

func (r record) query() string {
	return `{"query":"` + r.word + `","tenant_id":"$","top_k":1}`
}

// resolved reads all records by their ids, which needs no backend.
func (f *faulty) resolved(t testing.TB, list []record) {
	t.Helper()
	var took []time.Duration
	for _, r := range list {
		began := time.Now()
		f.ask(t, "POST /resolve/skill", `{"skill_id":"`+r.id+`","tenant_id":"$"}`).expect(t, 200, "", `{"skill_id":"`+r.id+`"}`)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	if median := took[len(took)/2]; median > 200*time.Millisecond {
		t.Errorf("by id a record takes %v in the middle, want it as quick as ever", median)
	}
}

// recovered waits until nothing is left to do, and finds each record once.
func (f *faulty) recovered(t testing.TB, list []record) {
	t.Helper()
	f.drained(t)
	f.resolved(t, list)
	for _, r := range list {
		f.finds(t, r)
	}
	if n := f.documents(t); n != len(list) {
		t.Errorf("the index has %d documents, want %d", n, len(list))
	}
}

// finds searches for a record, with all that search is made of.
func (f *faulty) finds(t testing.TB, r record) {
	t.Helper()
	a := f.ask(t, "POST /resolve/skill", r.query())
	a.expect(t, 200, "", `{"skills":[{"skill_id":"`+r.id+`"}]}`)
	if strings.Contains(a.body, `"degraded"`) {
		t.Errorf("search for %s: %s, want nothing missing", r.id, a.body)
	}
}

// documents is how many skills Elasticsearch has.
func (f *faulty) documents(t testing.TB) int {
	t.Helper()
	var answer struct{ Count int }
	a := f.at(elasticURL()).ask(t, "GET /"+f.indices+"-skill/_count", "")
	if err := json.Unmarshal([]byte(a.body), &answer); err != nil || a.status != 200 {
		t.Fatalf("count documents: %d %s", a.status, a.body)
	}
	return answer.Count
}

// health is the answer of GET /health.
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
	Aside             int
	Records           []struct{ Key, Reason string } `json:"aside_records"`
}

func (c *client) health(t testing.TB) (h health) {
	t.Helper()
	a := c.ask(t, "GET /health", "")
	if err := json.Unmarshal([]byte(a.body), &h); err != nil || a.status != 200 {
		t.Fatalf("health: %d %s", a.status, a.body)
	}
	return h
}

// level reports whether nothing is left to be indexed, and searches see it.
func (h health) level() bool {
	i := h.index()
	return i.Lag != nil && *i.Lag == 0 && i.Live != "" && i.Live == i.Fingerprint
}

// index is what registration knows of the index.
func (h health) index() indexHealth {
	if len(h.Services) > 1 && h.Services[1].Index != nil {
		return *h.Services[1].Index
	}
	return indexHealth{}
}
