package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"cairn/bus"
	"cairn/schemas"
)

const (
	// requestTimeout is the timeout of a request.
	requestTimeout = 6 * time.Second
	// readTimeout is the timeout of a request of a read-only client.
	readTimeout = 2 * time.Second
	// requestInterval is the time between two operations of a client, and readInterval
	// of a read-only client.
	requestInterval = 20 * time.Millisecond
	readInterval    = 40 * time.Millisecond
	// failureInterval is the time after a failed request: the fewer outcomes are unknown,
	// the more violations the history can reveal.
	failureInterval = 300 * time.Millisecond
	// resolveInterval is the interval at which a client sends resolve requests.
	resolveInterval = 100 * time.Millisecond
	// keyLifetime is the time for which clients write a tag key, so that its history stays
	// short. They read it for as long again, so that they see it expire.
	keyLifetime = 3 * time.Second
	// keysAtOnce is the number of tag keys that all clients share at a time.
	keysAtOnce = 6
	// recordKeys is the number of records that are registered again and deleted.
	recordKeys = 4
	// tagTTL is the time to live of some tags.
	tagTTL = time.Second
	// readersPerNode is the number of clients of each node that only read records.
	readersPerNode = 2
	// auditedTags is the maximum number of tags that an audit reads.
	auditedTags = 150
	// lostReaders is the number of concurrent requests that look for lost registrations.
	lostReaders = 16
)

// workload is a set of clients of all nodes, with the outcomes of their requests.
type workload struct {
	began    time.Time
	prefix   string
	seed     uint64 // of the clients that write tags and records
	cluster  *cluster
	operator *operator // of a stand-alone node; nil: a cluster
	http     *http.Client
	tags     History
	records  History

	mu         sync.Mutex
	registered map[string]bool // acknowledged registrations of records that are written once
	samples    map[string][]Sample
	newest     schemas.ConsistencyToken // of all acknowledged writes
	ofEdge     [nodes]edgeRevision
	analyses   []Analysis
	broken     []string // violations that an audit has found

	analysts             int           // clients of each node that follow analyses
	resume               time.Duration // time after its start within which a client resumes a run
	timeout, readTimeout time.Duration // of a request, and of a request of a read-only client
	lanes                int           // concurrent reads of a read-only client of tags; a lane reads sequentially
	sent                 int           // requests that reached a server
	failures             []failure     // of them
}

// failure is a failed request.
type failure struct {
	At   time.Duration // of its end
	What string        // the request and its response
	Body string        // of the response
}

// edgeRevision is the highest revision acknowledged by the process of an edge.
type edgeRevision struct {
	start    int64 // number of the start of the process
	revision uint64
}

func newWorkload(c *cluster) *workload {
	prefix := strconv.FormatUint(rand.Uint64(), 36) // #nosec G404 -- identifies this run, not a secret
	return &workload{
		began: time.Now(), prefix: prefix, cluster: c, registered: map[string]bool{}, samples: map[string][]Sample{},
		http:     &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
		analysts: 1, timeout: requestTimeout, readTimeout: readTimeout, lanes: int(2 * readTimeout / readInterval),
	}
}

// start runs the clients until ctx ends: mixed ones that write and read tags, and a fixed
// number of the others for each node.
func (w *workload) start(ctx context.Context, mixed int) (wait func()) {
	var running sync.WaitGroup
	id := 0
	add := func(count int, client func(context.Context, int)) {
		for range count {
			number := id // its node is number%nodes
			running.Go(func() { client(ctx, number) })
			id++
		}
	}
	add(mixed, w.useTags)
	add((nodes-mixed%nodes)%nodes, func(context.Context, int) {}) // the next ones begin at the first node
	add(nodes, w.useRecords)
	add(nodes*readersPerNode, w.readRecords)
	add(nodes, w.register)
	add(nodes, w.resolve)
	add(nodes*w.analysts, w.analyze)
	add(nodes, w.readTags)
	if w.operator != nil {
		add(1, w.operator.useKeys)
		add(1, w.operator.useHistory)
	}
	return running.Wait
}

// since returns the time since the start of the workload.
func (w *workload) since() time.Duration { return time.Since(w.began) }

func base(c *cluster, client int) string { return "http://" + c.httpAddr[client%nodes] }

// random returns the random numbers of a client.
func (w *workload) random(client int) *rand.Rand {
	return rand.New(rand.NewPCG(w.seed, uint64(client))) // #nosec G115 G404 -- load, not a secret
}

// tagKey returns one of the keys of the given age in lifetimes.
func (w *workload) tagKey(age, n int) string {
	return fmt.Sprint(w.prefix, "-", int(w.since()/keyLifetime)-age, "-", n)
}

// recordKey returns the key of a record.
func (w *workload) recordKey(name string, n int) string {
	return fmt.Sprintf("faults%s.%s%d", w.prefix, name, n)
}

// useTags creates, reads and deletes tags until ctx ends.
func (w *workload) useTags(ctx context.Context, client int) {
	random := w.random(client)
	for n := 0; ctx.Err() == nil; n++ {
		o := Operation{Client: client, Key: w.tagKey(0, random.IntN(keysAtOnce)), Call: w.since(), Action: Read}
		switch kind := random.IntN(10); kind {
		case 0, 1, 2, 3:
			o.Action, o.Value = Create, fmt.Sprint(client, "-", n)
			if kind < 2 {
				o.TTL = tagTTL
			}
		case 4, 5:
			o.Action = Delete
		}
		sent := w.tag(ctx, &o, w.timeout)
		if sent {
			kind := Written
			if o.Action == Read {
				kind = Reading
			}
			w.note(kind, client, o.Call, o.Unknown)
		}
		if !sent || o.Unknown {
			sleep(ctx, failureInterval)
		}
		sleep(ctx, requestInterval)
	}
}

// readTags reads tags until ctx ends, at a constant rate, whether earlier reads have
// completed or not, unless w.lanes are in progress. Clients that also write do not read while
// a write waits for the election of a leader; a former leader can send stale responses then,
// and when it resumes, to requests that were sent long after the writes. Half of the keys are
// no longer written.
func (w *workload) readTags(ctx context.Context, client int) {
	var running errgroup.Group
	running.SetLimit(w.lanes)
	for n := 0; ctx.Err() == nil; n++ {
		key := w.tagKey(n%2, rand.IntN(keysAtOnce)) // #nosec G404 -- load, not a secret
		o := Operation{Client: client + nodes*(n%w.lanes), Key: key, Action: Read}
		running.Go(func() error {
			o.Call = w.since()
			w.tag(ctx, &o, w.readTimeout)
			return nil
		})
		sleep(ctx, readInterval)
	}
	_ = running.Wait() // no function returns an error
}

// tag performs the operation on a tag and adds it with its outcome to the history. It
// reports whether the request was sent: if the connection was refused, the operation was
// not applied.
func (w *workload) tag(ctx context.Context, o *Operation, timeout time.Duration) (sent bool) {
	url := base(w.cluster, o.Client) + "/tags/"
	r := request{method: http.MethodGet, url: url + o.Key, timeout: timeout}
	switch o.Action {
	case Create:
		body := map[string]any{"request_id": o.Key, "flow": o.Value}
		if o.TTL > 0 {
			body["ttl_seconds"] = o.TTL / time.Second
		}
		r.method, r.url = http.MethodPost, url+"write"
		r.body, _ = json.Marshal(body) // strings and a number
	case Delete:
		r.method = http.MethodDelete
	}
	res := w.send(ctx, r)
	o.Returned = w.since()
	var body struct {
		Tags struct{ Flow string }
	}
	switch {
	case res.status == http.StatusConflict && !o.retried():
		o.Refused = true
	case res.status == http.StatusNotFound && o.Action == Read, res.status == http.StatusCreated,
		res.status == http.StatusNoContent:
	case res.status == http.StatusOK && json.Unmarshal(res.body, &body) == nil && body.Tags.Flow != "":
		o.Value = body.Tags.Flow
	default:
		o.Unknown = true
	}
	if res.status == unsent {
		return false
	}
	w.tags.Add(*o)
	if o.Action == Delete && !o.Unknown && o.retried() {
		w.tags.Add(o.repeated())
	}
	return true
}

// useRecords registers records again, deletes and reads them until ctx ends.
func (w *workload) useRecords(ctx context.Context, client int) {
	random := w.random(client)
	for n := 0; ctx.Err() == nil; n++ {
		o := Operation{Client: client, Key: w.recordKey("k", random.IntN(recordKeys)), Action: Read}
		switch random.IntN(10) {
		case 0, 1, 2, 3:
			o.Action, o.Value = Put, fmt.Sprint(client, "-", n)
		case 4, 5:
			o.Action = Delete
		}
		if w.record(ctx, &o, w.timeout); o.Unknown {
			sleep(ctx, failureInterval)
		}
		sleep(ctx, requestInterval)
	}
}

// readRecords reads records until ctx ends.
func (w *workload) readRecords(ctx context.Context, client int) {
	for ctx.Err() == nil {
		key := w.recordKey("k", rand.IntN(recordKeys)) // #nosec G404 -- load, not a secret
		w.record(ctx, &Operation{Client: client, Key: key, Action: Read}, w.readTimeout)
		sleep(ctx, readInterval)
	}
}

// record performs the operation on a record and adds it with its outcome to the history.
// Half of the reads require the newest revision of all acknowledged writes; the others rely on
// read-your-writes of the edge.
func (w *workload) record(ctx context.Context, o *Operation, timeout time.Duration) {
	node := o.Client % nodes
	id, r := o.Key, request{timeout: timeout}
	switch url := base(w.cluster, o.Client); o.Action {
	case Put:
		r.method, r.url = http.MethodPost, url+"/register/skill"
		r.body, _ = json.Marshal(map[string]any{"record": map[string]string{"skill_id": id, "value": o.Value}}) // strings
	case Delete:
		r.method, r.url = http.MethodDelete, url+"/register/skill/"+id
	default:
		r.method, r.url, r.body = http.MethodPost, url+"/resolve/skill", []byte(`{"skill_id":"`+id+`"}`)
	}
	start := w.cluster.starts(node)
	var own uint64
	if o.Action == Read && rand.IntN(2) == 0 { // #nosec G404 -- load, not a secret
		r.minRevision = w.newestToken()
		o.Revision = r.minRevision.Revision
	} else if o.Action == Read {
		own = w.edgeRevision(node, start)
	}
	o.Call = w.since()
	res := w.send(ctx, r)
	o.Returned = w.since()
	if own > 0 && w.cluster.starts(node) == start { // the same process of the edge
		o.Revision = own
	}
	if res.status == unsent {
		return
	}
	o.set(res)
	if o.Action == Put && !o.Unknown {
		w.acknowledged(node, start, res.token)
	}
	w.records.Add(*o)
	if o.Action == Delete && !o.Unknown && o.retried() {
		w.records.Add(o.repeated())
	}
}

// newestToken returns the token of the newest acknowledged write.
func (w *workload) newestToken() schemas.ConsistencyToken {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.newest
}

// edgeRevision returns the highest revision acknowledged by a process of the node's edge.
func (w *workload) edgeRevision(node int, start int64) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ofEdge[node].start != start {
		return 0
	}
	return w.ofEdge[node].revision
}

// acknowledged records the token of a write by a process of the node's edge.
func (w *workload) acknowledged(node int, start int64, t schemas.ConsistencyToken) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t.Revision > w.newest.Revision {
		w.newest = t
	}
	if start != w.cluster.starts(node) {
		return // the process has ended
	}
	if w.ofEdge[node].start != start {
		w.ofEdge[node] = edgeRevision{start: start}
	}
	w.ofEdge[node].revision = max(w.ofEdge[node].revision, t.Revision)
}

// request is an HTTP request to a node.
type request struct {
	method, url string
	body        []byte
	minRevision schemas.ConsistencyToken // minimum revision of the response; none: revision 0
	timeout     time.Duration
}

// unsent is the status of a request that did not reach a server.
const unsent = -1

// response is the response to a request; status 0 means that there was none.
type response struct {
	status int
	token  schemas.ConsistencyToken // of a write
	body   []byte
}

// send sends the request and counts it.
func (w *workload) send(ctx context.Context, r request) response {
	res := w.exchange(ctx, r)
	if res.status == unsent {
		return res
	}
	failed := ""
	if res.status == 0 || res.status == http.StatusTooManyRequests || res.status >= http.StatusInternalServerError {
		failed = fmt.Sprintf("%s %s: %s", r.method, r.service(), res.problem())
	}
	w.count(failed, res.body)
	return res
}

// service returns the first segment of the path.
func (r request) service() string {
	segments := strings.SplitN(r.url, "/", 5) // after the scheme and the host
	return "/" + segments[3]
}

// problem describes a response that is an error.
func (r response) problem() string {
	if r.status == 0 {
		return "no response"
	}
	var e schemas.Error
	_ = json.Unmarshal(r.body, &e) // the code is empty then
	return fmt.Sprint(r.status, " ", e.Code)
}

// count counts a request, which has failed unless failure is empty.
func (w *workload) count(failed string, body []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent++
	if failed != "" {
		w.failures = append(w.failures, failure{w.since(), failed, string(body)})
	}
}

func (w *workload) exchange(ctx context.Context, r request) response {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, bytes.NewReader(r.body))
	if err != nil {
		return response{status: unsent}
	}
	req.Header.Set("Content-Type", "application/json")
	if r.minRevision.Revision > 0 {
		req.Header.Set(bus.HeaderMinRevision, r.minRevision.String())
	}
	res, err := w.http.Do(req)
	if notConnected(err) {
		return response{status: unsent}
	}
	if err != nil {
		return response{}
	}
	defer func() { _ = res.Body.Close() }()
	var b bytes.Buffer
	if _, err := b.ReadFrom(res.Body); err != nil {
		return response{}
	}
	t, _ := schemas.ParseConsistencyToken(res.Header.Get(bus.HeaderRevision)) // absent: the zero token
	return response{res.StatusCode, t, b.Bytes()}
}

// notConnected reports whether no connection was established.
func notConnected(err error) bool {
	var broken *net.OpError
	return errors.As(err, &broken) && broken.Op == "dial"
}

// note adds a sample of the kind for a request that was sent at the given time.
func (w *workload) note(kind string, client int, sent time.Duration, failed bool) {
	took := w.since() - sent
	w.mu.Lock()
	defer w.mu.Unlock()
	w.samples[kind] = append(w.samples[kind], Sample{Node: client % nodes, Call: sent, Took: took, Failed: failed})
}

// register registers records until ctx ends.
func (w *workload) register(ctx context.Context, client int) {
	for n := 0; ctx.Err() == nil; n++ {
		w.registerOne(ctx, client, fmt.Sprintf("faults%s.c%d_%d", w.prefix, client, n))
		sleep(ctx, requestInterval)
	}
}

// registerOne reports whether the registration of the record was acknowledged.
func (w *workload) registerOne(ctx context.Context, client int, id string) bool {
	sent, start := w.since(), w.cluster.starts(client%nodes)
	res := w.send(ctx, request{
		method: http.MethodPost, url: base(w.cluster, client) + "/register/skill",
		body: []byte(`{"record":{"skill_id":"` + id + `"}}`), timeout: w.timeout,
	})
	if res.status != unsent {
		w.note(Registered, client, sent, res.status != http.StatusOK)
	}
	if res.status != http.StatusOK {
		return false
	}
	w.acknowledged(client%nodes, start, res.token)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.registered[id] = true
	return true
}

// resolve resolves one record by its id until ctx ends, at a constant rate, whether earlier
// requests have completed or not.
func (w *workload) resolve(ctx context.Context, client int) {
	id := fmt.Sprintf("faults%s.r%d", w.prefix, client)
	for !w.registerOne(ctx, client, id) && ctx.Err() == nil {
		sleep(ctx, failureInterval)
	}
	var asked sync.WaitGroup
	defer asked.Wait()
	for ; ctx.Err() == nil; sleep(ctx, resolveInterval) {
		asked.Go(func() {
			sent := w.since()
			if res := w.resolveOne(ctx, client, id, schemas.ConsistencyToken{}); res.status != unsent {
				w.note(Resolved, client, sent, res.status != http.StatusOK)
			}
		})
	}
}

func (w *workload) resolveOne(ctx context.Context, client int, id string,
	minRevision schemas.ConsistencyToken) response {
	return w.send(ctx, request{
		method: http.MethodPost, url: base(w.cluster, client) + "/resolve/skill",
		body: []byte(`{"skill_id":"` + id + `"}`), minRevision: minRevision, timeout: w.timeout,
	})
}

// lost returns the acknowledged registrations that an edge does not return for a request with
// the newest revision as the minimum.
func (w *workload) lost(ctx context.Context) (lost []string) {
	var mu sync.Mutex
	var asking errgroup.Group
	asking.SetLimit(lostReaders)
	for id := range w.registered {
		asking.Go(func() error {
			for node := range nodes {
				if res := w.resolveOne(ctx, node, id, w.newest); res.status != http.StatusOK {
					mu.Lock()
					defer mu.Unlock()
					lost = append(lost, id)
					return nil
				}
			}
			return nil
		})
	}
	_ = asking.Wait() // no function returns an error
	slices.Sort(lost)
	return lost
}

// audit reads tags of any age at each node, and creates some of those that are absent. At a stand-alone node it
// also checks the API keys and the history of a record.
func (w *workload) audit(ctx context.Context) {
	used := map[string]bool{}
	for _, o := range w.tags.Operations() {
		used[o.Key] = true
	}
	list := slices.Collect(maps.Keys(used))
	list = list[:min(len(list), auditedTags)]
	var reading errgroup.Group
	reading.SetLimit(lostReaders)
	for n, key := range list {
		reading.Go(func() error {
			for node := range nodes {
				o := Operation{Client: node, Key: key, Action: Read, Call: w.since()}
				w.tag(ctx, &o, w.readTimeout)
				if o.Value == "" && !o.Unknown && node == n%(2*nodes) { // half of the keys
					o = Operation{Client: node, Key: key, Action: Create, Value: fmt.Sprint("audit-", n), Call: w.since()}
					w.tag(ctx, &o, w.timeout)
				}
			}
			return nil
		})
	}
	_ = reading.Wait() // no function returns an error
	if w.operator != nil {
		w.report(w.operator.checkKeys(ctx)...)
		w.report(w.operator.checkHistory(ctx)...)
	}
}

// report adds violations.
func (w *workload) report(violations ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = append(w.broken, violations...)
}

// analyze starts runs until ctx ends, and follows each to its end.
func (w *workload) analyze(ctx context.Context, client int) {
	text := answer()
	for ctx.Err() == nil {
		sent := w.since()
		res, err := w.openStream(ctx, client, http.MethodPost, "", 0) //nolint:bodyclose // receive closes it
		if err == nil && res.StatusCode == http.StatusOK {
			r := w.follow(ctx, res, Analysis{Client: client, Began: sent})
			w.mu.Lock()
			w.analyses = append(w.analyses, r)
			w.mu.Unlock()
			outcome, err := r.Check(text)
			switch {
			case err != nil:
				outcome = err.Error()
			case outcome == Complete:
				outcome = ""
			}
			w.noteAnalysis(client, sent, outcome)
			continue
		}
		problem := "no response"
		if err == nil {
			problem = strconv.Itoa(res.StatusCode)
			_ = res.Body.Close()
		}
		if !notConnected(err) {
			w.noteAnalysis(client, sent, problem)
		}
		sleep(ctx, failureInterval)
	}
}

// noteAnalysis counts a run, which has failed unless problem is empty, and adds a sample.
func (w *workload) noteAnalysis(client int, sent time.Duration, problem string) {
	failed := ""
	if problem != "" {
		failed = "analysis: " + problem
	}
	w.count(failed, nil)
	w.note(Analyzed, client, sent, failed != "")
}

// follow receives the events of a run, and resumes it at the next node whenever the
// response ends early, or the node does not know the run: one that began at a partitioned
// node is known to the others when the partition has healed. It follows each run to its end, even
// after ctx has ended.
func (w *workload) follow(ctx context.Context, res *http.Response, r Analysis) Analysis {
	run := "/" + res.Header.Get(bus.HeaderRun)
	ended := r.receive(res)
	for node := r.Client + 1; !ended && w.since() < r.Began+w.resume; node++ {
		res, err := w.openStream(ctx, node, http.MethodGet, run, r.last()) //nolint:bodyclose // receive closes it
		if err == nil {
			r.Resumed++
			ended = r.receive(res)
		} else {
			r.Problem = err.Error()
		}
		if err != nil || res.StatusCode != http.StatusOK {
			sleep(context.WithoutCancel(ctx), failureInterval)
		}
	}
	r.Ended = w.since()
	return r
}

// openStream sends the request for a run, or to resume one after the event.
func (w *workload) openStream(ctx context.Context, client int, method, run string,
	after uint64) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resumeTimeout)
	var body io.Reader
	if method == http.MethodPost {
		body = strings.NewReader(analysis)
	}
	req, err := http.NewRequestWithContext(ctx, method, base(w.cluster, client)+"/api/v1/analyze"+run, body)
	if err != nil {
		cancel()
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if after > 0 {
		req.Header.Set("Last-Event-ID", strconv.FormatUint(after, 10))
	}
	silence := time.AfterFunc(silenceTimeout, cancel)
	res, err := w.http.Do(req)
	if err != nil {
		cancel()
		return nil, err
	}
	res.Body = &watched{res.Body, silence, cancel}
	return res, nil
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
