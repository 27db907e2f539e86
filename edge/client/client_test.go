package client_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"cairn/bus"
	"cairn/edge/client"
	"cairn/schemas"
)

// open returns a client of a server with a handler.
func open(t *testing.T, h http.HandlerFunc, c client.Config) *client.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	c.URL = server.URL
	made, err := client.New(c)
	must(t, err)
	return made
}

func TestParseURLs(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ text, want, fault string }{
		{"127.0.0.1:8080", "http://127.0.0.1:8080", ""},
		{"cairn.example.com:443", "https://cairn.example.com:443", ""},
		{"localhost", "http://localhost", ""},
		{"[::1]:8080", "http://[::1]:8080", ""},
		{"https://cairn.example.com/prefix/", "https://cairn.example.com/prefix", ""},
		{"ftp://a", "", "expected http://HOST:PORT"},
		{"http://", "", "expected http://HOST:PORT"},
		{"", "", "expected http://HOST:PORT"},
		{"http://a:b", "", "invalid port"},
		{"http://user:secret@a", "", "neither a user"},
		{"http://a?b", "", "nor a query"},
		{"a:1,https://b", "http://a:1 https://b", ""},
		{"a:1,", "", "expected http://HOST:PORT"},
	} {
		list, err := client.ParseURLs(row.text)
		switch u := strings.Trim(fmt.Sprint(list), "[]"); {
		case row.fault == "" && (err != nil || u != row.want):
			t.Errorf("%q: got %v, %v, want %s", row.text, u, err, row.want)
		case row.fault != "" && (err == nil || !strings.Contains(err.Error(), row.fault) ||
			strings.Contains(err.Error(), "secret")):
			t.Errorf("%q: got %v, %v, want an error with %q", row.text, u, err, row.fault)
		}
	}
	if _, err := client.New(client.Config{URL: "a", Key: "a\nb"}); err == nil {
		t.Error("a key with a line break was accepted")
	}
}

const overloaded = `{"code": "CE-011", "status": 503, "title": "dependency unavailable"}`

// get reads the agent a.
func get(t *testing.T, c *client.Client) error {
	_, err := c.Get(t.Context(), schemas.RecordKey{Kind: schemas.KindAgent, ID: "a"})
	return err
}

// put returns a function that registers the agent a.
func put(p schemas.Precondition) func(*testing.T, *client.Client) error {
	return func(t *testing.T, c *client.Client) error {
		_, err := c.Put(t.Context(), schemas.PutRecord{Kind: schemas.KindAgent, ID: "a", Record: jsontext.Value(`{}`)}, p)
		return err
	}
}

// TestRetries checks which requests are retried.
func TestRetries(t *testing.T) {
	t.Parallel()
	status := func(code int, body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	for _, row := range []struct {
		name    string
		first   func(http.ResponseWriter) // the response to all but the last request
		do      func(*testing.T, *client.Client) error
		retries time.Duration
		want    int64 // requests
	}{
		{"an overloaded server", status(503, overloaded), get, 0, 3},
		{"also for a write", status(503, overloaded), put(schemas.Precondition{}), 0, 3},
		{"a rate limit", status(429, `{"code": "CE-008", "status": 429}`), put(schemas.Precondition{IfMatch: "*"}), 0, 3},
		{"a proxy without a server", status(502, "bad gateway"), get, 0, 3},
		{"not for a conditional write, which may have happened", status(502, ""), put(schemas.Precondition{IfMatch: "*"}), 0,
			1},
		{"a lost connection", func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, put(schemas.Precondition{}), 0, 3},
		{"not for a conditional write", func(http.ResponseWriter) {
			panic(http.ErrAbortHandler)
		}, put(schemas.Precondition{IfMatch: "*"}), 0, 1},
		{"an error of the request", status(404, `{"code": "CE-081", "status": 404}`), get, 0, 1},
		{"no retries", status(503, overloaded), get, -1, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			c := open(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/health" {
					_, _ = io.WriteString(w, `{"status": "ok"}`)
				} else if requests.Add(1) < 3 {
					row.first(w)
				} else {
					_, _ = io.WriteString(w, `{"agent_id": "a"}`)
				}
			}, client.Config{RetryTimeout: row.retries})
			if _, err := c.Health(t.Context()); err != nil { // retries require a server that has responded
				t.Fatal(err)
			}
			err := row.do(t, c)
			if requests.Load() != row.want || (err == nil) != (row.want == 3) || c.Retries() != row.want-1 {
				t.Errorf("%d requests, %d retries, %v; want %d requests", requests.Load(), c.Retries(), err, row.want)
			}
		})
	}
}

func TestUnreachableServerIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	c, err := client.New(client.Config{URL: "127.0.0.1:1", RetryTimeout: time.Hour})
	must(t, err)
	err = get(t, c)
	var lost *client.TransportError
	if !errors.As(err, &lost) || !lost.Dial || c.Retries() != 0 {
		t.Errorf("got %v after %d retries, want a failed connection", err, c.Retries())
	}
}

// TestSeveralEdges kills the first of two edges, which the client uses first.
func TestSeveralEdges(t *testing.T) {
	t.Parallel()
	write := func(t *testing.T, c *client.Client) error {
		_, err := c.WriteTag(t.Context(), schemas.TagWrite{Tag: schemas.Tag{RequestID: "r"}})
		return err
	}
	follow := func(t *testing.T, c *client.Client) error {
		run, err := c.Analyze(t.Context(), schemas.Analysis{Query: "q", Context: "{}", Target: schemas.TargetH})
		if err != nil {
			return err
		}
		for _, eventErr := range run.Events() {
			err = errors.Join(err, eventErr)
		}
		return err
	}
	dies := func(http.ResponseWriter) { panic(http.ErrAbortHandler) }
	started := false
	diesLater := func(w http.ResponseWriter) {
		if started {
			dies(w)
		}
		started = true
		w.Header().Set(bus.HeaderRun, "r1")
		_, _ = io.WriteString(w, begun)
		_ = http.NewResponseController(w).Flush()
		dies(w)
	}
	ends := func(w http.ResponseWriter) { _, _ = io.WriteString(w, ended) }
	answers := func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"agent_id": "a"}`) }
	for _, row := range []struct {
		name          string
		first, second func(http.ResponseWriter) // nil: the edge refuses connections
		do            func(*testing.T, *client.Client) error
		want          string // requests by edge
		ok            bool
	}{
		{"a read is sent to the other edge", dies, answers, get, "1 GET 2 GET", true},
		{"a registration is stored once", dies, answers, put(schemas.Precondition{}), "1 PUT 2 PUT", true},
		{"a conditional write may have happened", dies, answers, put(schemas.Precondition{IfMatch: "*"}), "1 PUT", false},
		{"a tag may have been written", dies, answers, write, "1 POST", false},
		{"an analysis may have begun", dies, answers, follow, "1 POST", false},
		{"an edge that refuses the connection has received nothing", nil, answers, write, "2 POST", true},
		{"each edge receives the request once", dies, dies, get, "1 GET 2 GET", false},
		{"an analysis that has begun is resumed", diesLater, ends, follow, "1 POST 1 GET 2 GET", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var received []string
			edge := func(name string, respond func(http.ResponseWriter)) *httptest.Server {
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					mu.Lock()
					received = append(received, name, r.Method)
					mu.Unlock()
					respond(w)
				}))
				if respond == nil {
					server.Close()
				}
				t.Cleanup(server.Close)
				return server
			}
			c, err := client.New(client.Config{URL: edge("1", row.first).URL + "," + edge("2", row.second).URL})
			must(t, err)
			err = row.do(t, c)
			mu.Lock()
			defer mu.Unlock()
			if got := strings.Join(received, " "); got != row.want || (err == nil) != row.ok {
				t.Errorf("requests %q, %v; want %q", got, err, row.want)
			}
		})
	}
}

// TestListingsRepeat ranges twice over the same listings of two pages.
func TestListingsRepeat(t *testing.T) {
	t.Parallel()
	c := open(t, func(w http.ResponseWriter, r *http.Request) {
		first := r.URL.Query().Get("cursor") == ""
		body := `{"records":[{"agent_id":"b"}],"referrers":[{"kind":"agent","id":"b"}],"runs":[{"run":"b"}]}`
		if first {
			body = `{"records":[{"agent_id":"a"}],"referrers":[{"kind":"agent","id":"a"}],"runs":[{"run":"a"}],"next_cursor":"2"}`
		}
		_, _ = io.WriteString(w, body)
	}, client.Config{})
	records := c.List(t.Context(), schemas.RecordQuery{Kind: schemas.KindAgent})
	referrers := c.Referrers(t.Context(), schemas.ReferrerQuery{Kind: schemas.KindAgent, ID: "x"})
	runs := c.Runs(t.Context(), schemas.RunQuery{})
	for range 2 {
		var got []string
		for r, err := range records {
			got = append(got, fmt.Sprint("record ", r.ID, err))
		}
		for r, err := range referrers {
			got = append(got, fmt.Sprint("referrer ", r.ID, err))
		}
		for r, err := range runs {
			got = append(got, fmt.Sprint("run ", r.Run, err))
		}
		want := []string{"record a<nil>", "record b<nil>", "referrer a<nil>", "referrer b<nil>", "run a<nil>", "run b<nil>"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestConsistencyToken checks that reads carry the highest token.
func TestConsistencyToken(t *testing.T) {
	t.Parallel()
	var sent []string
	tokens := []string{"one-5", "one-4", "two-2", ""}
	c := open(t, func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Header.Get(bus.HeaderMinRevision)) // requests are sequential
		w.Header().Set(bus.HeaderRevision, tokens[len(sent)-1])
		if len(sent) == 4 {
			w.Header().Set(bus.HeaderIgnoredRevision, "two-2")
		}
		_, _ = io.WriteString(w, `{"agent_id": "a"}`)
	}, client.Config{})
	for range tokens {
		must(t, get(t, c))
	}
	tokens = append(tokens, "")
	must(t, get(t, c))
	if diff := cmp.Diff([]string{"", "one-5", "one-5", "two-2", ""}, sent); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestKeyStaysWithItsServer checks that another server does not receive the key.
func TestKeyStaysWithItsServer(t *testing.T) {
	t.Parallel()
	var keys []string
	h := func(_ http.ResponseWriter, r *http.Request) { keys = append(keys, r.Header.Get("Authorization")) }
	c := open(t, h, client.Config{Key: "secret"})
	other := httptest.NewServer(http.HandlerFunc(h))
	t.Cleanup(other.Close)
	for _, url := range []string{c.URL(), other.URL} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		must(t, err)
		res, err := c.RoundTrip(r)
		must(t, err)
		_ = res.Body.Close()
	}
	if diff := cmp.Diff([]string{"Bearer secret", ""}, keys); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

const (
	begun = "id: 1\nevent: text_delta\ndata: {\"text\":\"a\"}\n\n"
	ended = "id: 2\nevent: done\ndata: {}\n\n"
)

// TestRun checks the resumption and cancellation of streams.
func TestRun(t *testing.T) {
	t.Parallel()
	question := schemas.Analysis{Query: "q", Context: "{}", Target: schemas.TargetH}
	for _, row := range []struct {
		name    string
		resumed []string // bodies of the responses to resumptions; empty: 204
		stop    bool     // the reader stops after the first event
		keep    bool     // the run continues without clients
		want    string   // types of the events, and the error
		log     string   // requests
	}{
		{"a lost connection", []string{ended}, false, false, "text_delta done", "POST GET:1"},
		{"twice", []string{"", "x"}, false, false, "text_delta error", "POST GET:1 DELETE"},
		{"a reader that stops", nil, true, false, "text_delta", "POST DELETE"},
		{"a run that continues", nil, true, true, "text_delta", "POST"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var log []string
			c := open(t, func(w http.ResponseWriter, r *http.Request) {
				switch r.Method {
				case http.MethodPost:
					log = append(log, "POST") // requests are sequential
					w.Header().Set(bus.HeaderRun, "r1")
					_, _ = io.WriteString(w, begun)
				case http.MethodDelete:
					log = append(log, "DELETE")
				default:
					body := row.resumed[len(log)-1]
					log = append(log, "GET:"+r.Header.Get("Last-Event-ID"))
					if body == "" {
						w.WriteHeader(http.StatusNoContent)
					}
					_, _ = io.WriteString(w, body)
				}
			}, client.Config{})
			q := question
			if row.keep {
				q.OnDisconnect = schemas.OnDisconnectContinue
			}
			run, err := c.Analyze(t.Context(), q)
			must(t, err)
			var got []string
			for e, err := range run.Events() {
				if err != nil {
					if !errors.Is(err, client.ErrIncomplete) {
						t.Error(err)
					}
					got = append(got, "error")
					break
				}
				got = append(got, e.Type)
				if row.stop {
					break
				}
			}
			if strings.Join(got, " ") != row.want || strings.Join(log, " ") != row.log {
				t.Errorf("events %v, requests %v; want %s, %s", got, log, row.want, row.log)
			}
		})
	}
}

// TestRequests calls every method against a running Cairn.
func TestRequests(t *testing.T) {
	t.Parallel()
	c, err := client.New(client.Config{URL: address})
	must(t, err)
	ctx, tenant := t.Context(), "requests"
	key := schemas.RecordKey{Kind: schemas.KindSkill, ID: "a.b c"}
	if _, err := c.Get(ctx, key); !errors.Is(err, schemas.ErrMalformed) {
		t.Errorf("a malformed id: %v", err)
	}
	key.ID, key.TenantID = "a.b/c?%", &tenant
	put := schemas.PutRecord{Kind: key.Kind, ID: key.ID, TenantID: &tenant,
		Record: jsontext.Value(`{"purpose":"p","tool_ids":["x.y.z"]}`)}
	stored, err := c.Put(ctx, put, schemas.Precondition{IfNoneMatch: "*"})
	if err != nil || stored.ETag == "" || stored.Token.Revision == 0 || len(stored.Warnings) != 1 {
		t.Fatalf("%+v, %v", stored, err)
	}
	put.Strict = true
	if _, err := c.Put(ctx, put, schemas.Precondition{}); !errors.Is(err, schemas.ErrInvalidRegistration) {
		t.Errorf("strict: %v", err)
	}
	got, err := c.Get(ctx, key)
	if err != nil || got.ID != key.ID || got.Tenant != tenant || got.ETag != stored.ETag || got.Token != stored.Token {
		t.Errorf("%+v, %v; want %+v", got, err, stored)
	}
	list, err := c.History(ctx, key)
	if err != nil || len(list) == 0 || list[0].Revision != stored.Token.String() {
		t.Fatalf("%+v, %v; want revision %s", list, err, stored.Token)
	}
	if record, err := c.GetRevision(ctx, schemas.RecordAt{RecordKey: key, Revision: list[0].Revision}); err != nil ||
		record.Token != stored.Token {
		t.Errorf("%+v, %v; want %+v", record, err, stored)
	}
	if _, err := c.History(ctx, schemas.RecordKey{Kind: key.Kind, ID: "a.none"}); !errors.Is(err,
		schemas.ErrRecordNotFound) {
		t.Errorf("the history of no record: %v", err)
	}
	if u, err := c.Usage(ctx, key); err != nil || u.Resolved.Count != 0 {
		t.Errorf("the usage of an unused record: %+v, %v", u, err)
	}
	o := schemas.QueryOptions{TenantID: &tenant}
	if p, err := c.Package(ctx, key.ID, o); err != nil || p.SkillID != key.ID {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := c.SearchAgent(ctx, schemas.AgentQuery{Query: "q", QueryOptions: o}); !errors.Is(err,
		schemas.ErrAgentNotFound) {
		t.Error(err)
	}
	page, err := c.SearchRecords(ctx, schemas.RecordSearch{Query: "q", QueryOptions: o})
	if err != nil || page.Hits == nil {
		t.Errorf("%+v, %v", page, err)
	}
	if a, err := c.Tools(ctx, schemas.ToolsQuery{ToolIDs: []string{"x.y.z"}, QueryOptions: o}); !errors.Is(err,
		schemas.ErrToolNotFound) {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := c.ToolClass(ctx, schemas.ToolClassQuery{ToolClass: "c", QueryOptions: o}); !errors.Is(err,
		schemas.ErrToolNotFound) {
		t.Error(err)
	}
	deletion := schemas.DeleteRecord{Unregister: schemas.Unregister{Kind: key.Kind, ID: key.ID, TenantID: key.TenantID}}
	if _, err := c.Delete(ctx, deletion, schemas.Precondition{IfMatch: stored.ETag}); err != nil {
		t.Error(err)
	}
	_, err = c.Delete(ctx, deletion, schemas.Precondition{IfMatch: "*"})
	if !errors.Is(err, schemas.ErrPreconditionFailed) {
		t.Error(err)
	}
	tag := schemas.TagKey{RequestID: "r/1", TenantID: &tenant}
	if _, err := c.WriteTag(ctx,
		schemas.TagWrite{Tag: schemas.Tag{RequestID: "r/1", Flow: "f"}, TenantID: &tenant}); err != nil {
		t.Error(err)
	}
	if stored, err := c.Tag(ctx, tag); err != nil || stored.Flow != "f" {
		t.Errorf("%+v, %v", stored, err)
	}
	if err := c.DeleteTag(ctx, tag); err != nil {
		t.Error(err)
	}
	if _, err := c.Tag(ctx, tag); !errors.Is(err, schemas.ErrTagNotFound) {
		t.Error(err)
	}
	if _, err := c.Reindex(ctx); !errors.Is(err, schemas.ErrNotImplemented) {
		t.Error(err)
	}
	if _, err := c.Follow(ctx, "none", ""); !errors.Is(err, schemas.ErrRunNotFound) {
		t.Error(err)
	}
	if err := errors.Join(c.CancelRun(ctx, "none"), c.Ping(ctx)); err != nil {
		t.Error(err)
	}
}

// TestFollow reads a run that continues without its client from the first event.
func TestFollow(t *testing.T) {
	t.Parallel()
	c, err := client.New(client.Config{URL: address})
	must(t, err)
	run, err := c.Analyze(t.Context(), schemas.Analysis{
		Query: "how many hosts?", Context: `{"hosts":[{"name":"a"}]}`, Target: schemas.TargetH,
		OnDisconnect: schemas.OnDisconnectContinue,
	})
	must(t, err)
	must(t, run.Close())
	again, err := c.Follow(t.Context(), run.ID, "")
	must(t, err)
	last := ""
	for e, err := range again.Events() {
		must(t, err)
		last = e.Type
	}
	if last != schemas.EventDone {
		t.Errorf("the last event is %q", last)
	}
}

// must fails the test on an error of its setup.
func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
