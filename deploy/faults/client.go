package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"cairn/bus"
)

const (
	// requestTimeout is the timeout of a request.
	requestTimeout = 6 * time.Second
	// requestInterval is the time between two operations of a client.
	requestInterval = 10 * time.Millisecond
	// rest is the pause after a failed request: the fewer outcomes are unknown, the more
	// violations the history can reveal.
	rest = 300 * time.Millisecond
	// resolvePause is the interval at which a client sends resolve requests.
	resolvePause = 100 * time.Millisecond
	// keysFor is the lifetime of a key, so that its history stays short.
	keysFor = 2 * time.Second
	// keysAtOnce is the number of keys that all clients share at a time.
	keysAtOnce = 6
)

// workload is a set of clients of all nodes, with the outcomes of their requests.
type workload struct {
	began   time.Time
	prefix  string
	https   [nodes]string
	http    *http.Client
	history History

	mu       sync.Mutex
	records  map[string]bool // acknowledged registrations
	samples  map[string][]Sample
	revision uint64
}

func newWorkload(https [nodes]string) *workload {
	prefix := strconv.FormatUint(rand.Uint64(), 36) // #nosec G404 -- of this run, and no secret
	return &workload{
		began: time.Now(), prefix: prefix, https: https, records: map[string]bool{}, samples: map[string][]Sample{},
		http: &http.Client{Timeout: requestTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
}

// tags creates, reads and deletes tags until ctx ends.
func (w *workload) tags(ctx context.Context, client int) {
	base := "http://" + w.https[client%nodes]
	for n := 0; ctx.Err() == nil; n++ {
		at := time.Since(w.began)
		key, kind := rand.IntN(keysAtOnce), rand.IntN(10) // #nosec G404 -- any will do
		o := Operation{Client: client, Key: fmt.Sprint(w.prefix, "-", at/keysFor, "-", key), Call: at, Action: Read}
		switch kind {
		case 0, 1, 2, 3:
			o.Action, o.Value = Create, fmt.Sprint(client, "-", n)
		case 4, 5:
			o.Action = Delete
		}
		sent := w.do(base, &o)
		o.Returned = time.Since(w.began)
		if sent {
			w.history.Add(o)
			kind := Written
			if o.Action == Read {
				kind = Reading
			}
			w.note(kind, client, at, o.Unknown)
		}
		if !sent || o.Unknown {
			sleep(ctx, rest)
		}
		sleep(ctx, requestInterval)
	}
}

// do performs the operation and stores its outcome in o. It reports whether the request
// was sent: if the connection is refused, the operation was not applied.
func (w *workload) do(base string, o *Operation) (sent bool) {
	var status int
	var body []byte
	switch o.Action {
	case Create:
		text, _ := json.Marshal(map[string]string{"request_id": o.Key, "flow": o.Value}) // strings
		status, body = w.ask(http.MethodPost, base+"/tags/write", text, 0)
	case Read:
		status, body = w.ask(http.MethodGet, base+"/tags/"+o.Key, nil, 0)
	case Delete:
		status, body = w.ask(http.MethodDelete, base+"/tags/"+o.Key, nil, 0)
	}
	var answer struct {
		Tags struct{ Flow string }
	}
	switch {
	case status == http.StatusConflict:
		o.Refused = true
	case status == http.StatusNotFound && o.Action == Read, status == http.StatusCreated, status == http.StatusNoContent:
	case status == http.StatusOK && json.Unmarshal(body, &answer) == nil && answer.Tags.Flow != "":
		o.Value = answer.Tags.Flow
	default:
		o.Unknown = true
	}
	return status != unsent
}

// unsent is the status of a request that did not reach a server.
const unsent = -1

// ask returns the status and body of a response; status 0 means that there was none. least
// is the minimum revision that the response must include.
func (w *workload) ask(method, url string, body []byte, least uint64) (int, []byte) {
	req, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(bus.HeaderMinRevision, strconv.FormatUint(least, 10))
	res, err := w.http.Do(req)
	var broken *net.OpError
	if errors.As(err, &broken) && broken.Op == "dial" {
		return unsent, nil
	}
	if err != nil {
		return 0, nil
	}
	defer func() { _ = res.Body.Close() }()
	var b bytes.Buffer
	if _, err := b.ReadFrom(res.Body); err != nil {
		return 0, nil
	}
	if n, err := strconv.ParseUint(res.Header.Get(bus.HeaderRevision), 10, 64); err == nil {
		w.mu.Lock()
		w.revision = max(w.revision, n)
		w.mu.Unlock()
	}
	return res.StatusCode, b.Bytes()
}

// note adds a sample of the kind for a request that was sent at the given time.
func (w *workload) note(kind string, client int, at time.Duration, failed bool) {
	took := time.Since(w.began) - at
	w.mu.Lock()
	defer w.mu.Unlock()
	w.samples[kind] = append(w.samples[kind], Sample{Node: client % nodes, Call: at, Took: took, Failed: failed})
}

// register registers records until ctx ends.
func (w *workload) register(ctx context.Context, client int) {
	for n := 0; ctx.Err() == nil; n++ {
		w.registerOne(client, fmt.Sprintf("faults%s.c%d_%d", w.prefix, client, n))
		sleep(ctx, requestInterval)
	}
}

// registerOne reports whether the registration of the record was acknowledged.
func (w *workload) registerOne(client int, id string) bool {
	at := time.Since(w.began)
	status, _ := w.ask(http.MethodPost, "http://"+w.https[client%nodes]+"/register/skill", []byte(`{"record":{"skill_id":"`+id+`"}}`), 0)
	if status != unsent {
		w.note(Registered, client, at, status != http.StatusOK)
	}
	if status != http.StatusOK {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.records[id] = true
	return true
}

// resolve resolves one record by its id until ctx ends, at a constant rate, whether earlier
// requests have completed or not.
func (w *workload) resolve(ctx context.Context, client int) {
	id := fmt.Sprintf("faults%s.r%d", w.prefix, client)
	for !w.registerOne(client, id) && ctx.Err() == nil {
		sleep(ctx, rest)
	}
	var asked sync.WaitGroup
	defer asked.Wait()
	for ; ctx.Err() == nil; sleep(ctx, resolvePause) {
		asked.Go(func() {
			at := time.Since(w.began)
			status, _ := w.ask(http.MethodPost, "http://"+w.https[client%nodes]+"/resolve/skill", []byte(`{"skill_id":"`+id+`"}`), 0)
			if status != unsent {
				w.note(Resolved, client, at, status != http.StatusOK)
			}
		})
	}
}

// lost returns the acknowledged registrations that an edge does not return for a request with
// the newest revision as the minimum.
func (w *workload) lost() (lost []string) {
	for id := range w.records {
		for _, at := range w.https {
			status, _ := w.ask(http.MethodPost, "http://"+at+"/resolve/skill", []byte(`{"skill_id":"`+id+`"}`), w.revision)
			if status != http.StatusOK {
				lost = append(lost, id)
				break
			}
		}
	}
	return lost
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
