package test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cairn/bus"
	"cairn/deploy/load"
	"cairn/test/wait"

	"cairn/test/cairntest"
)

// TestRollingUpgrade replaces all processes by a newer version, and back, under load, and checks
// that every request succeeds and unknown fields are ignored.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	now := cairntest.Program(t)
	then := buildLater(t)
	s, err := serverOf(setup{})
	must(t, err)
	t.Cleanup(s.server.Stop)
	u := &upgrade{service: &service{sending: map[string]*sync.WaitGroup{}}, nats: s.nats}
	t.Cleanup(func() {
		if err := cairntest.StopAll(append([]*cairntest.Process{u.edge}, u.workers...)); err != nil {
			t.Error(err)
		}
	})
	for i := range upgradeRoles {
		u.workers = append(u.workers, u.worker(t, now, i))
	}
	u.edge = u.newEdge(t, now)
	u.service.use(u.edge.URL())

	ctx, cancel := context.WithCancel(t.Context())
	measured := make(chan *load.Result, 1)
	go func() { measured <- u.load().Run(ctx) }()
	t.Cleanup(func() { cancel(); u.service.http.CloseIdleConnections() })
	for _, program := range []string{then, now} {
		u.replaceEdge(t, program) // with workers of the other version
		for i := range u.workers {
			u.awaitAnswers(t)
			u.replaceWorker(t, program, i)
		}
		u.awaitAnswers(t)
	}
	cancel()
	r := <-measured
	for _, m := range r.Operations {
		if m.Count == 0 || m.Failed() > 0 {
			t.Errorf("%s: %d requests, failed %v", m.Operation, m.Count, m.Errors)
		}
	}
	if !u.service.sawLater.Load() {
		t.Error("no field of the newer version was received")
	}
}

// upgradeRoles are the roles of each worker process.
var upgradeRoles = [][]string{{"tags", "register"}, {"resolve"}, {"analyze"}}

// upgrade is a system whose processes are replaced one by one.
type upgrade struct {
	service *service
	nats    string
	edge    *cairntest.Process
	workers []*cairntest.Process
}

func (u *upgrade) worker(t *testing.T, program string, i int) *cairntest.Process {
	t.Helper()
	p := launch(program, append([]string{"worker", "--nats", u.nats, "--model", "offline:"}, upgradeRoles[i]...)...)
	must(t, p.WaitReady())
	return p
}

func (u *upgrade) newEdge(t *testing.T, program string) *cairntest.Process {
	t.Helper()
	p := launch(program, "edge", "--nats", u.nats, "--http", "127.0.0.1:0")
	must(t, p.WaitReady())
	return p
}

func (u *upgrade) replaceWorker(t *testing.T, program string, i int) {
	t.Helper()
	old := u.workers[i]
	u.workers[i] = u.worker(t, program, i)
	u.awaitAnswers(t)
	if err := cairntest.StopAll([]*cairntest.Process{old}); err != nil {
		t.Error(err)
	}
}

func (u *upgrade) replaceEdge(t *testing.T, program string) {
	t.Helper()
	old := u.edge
	u.edge = u.newEdge(t, program)
	u.service.use(u.edge.URL())
	u.service.drain(old.URL())
	if err := cairntest.StopAll([]*cairntest.Process{old}); err != nil {
		t.Error(err)
	}
}

// awaitAnswers returns after 12 more requests have been answered, three of each kind.
func (u *upgrade) awaitAnswers(t *testing.T) {
	t.Helper()
	before := u.service.answered.Load()
	wait.Until(t, "requests are answered", func() bool { return u.service.answered.Load() >= before+12 })
}

// load sends all kinds of requests until its context ends.
func (u *upgrade) load() load.Plan {
	send := func(name string, send func(context.Context, string) string) load.Operation {
		return load.Operation{Name: name, Share: 1, Do: func(ctx context.Context, n int) load.Answer {
			wrong := send(ctx, fmt.Sprint("n", n))
			u.service.answered.Add(1)
			return load.Answer{Err: wrong}
		}}
	}
	return load.Plan{
		Rate: 20, For: time.Hour, Connections: 32,
		Operations: []load.Operation{send("tags", u.service.tag), send("records", u.service.record),
			send("search", u.service.search),
			send("analyze", u.service.analyze)},
	}
}

// service routes requests to the current edge, as a Kubernetes Service does.
type service struct {
	http     http.Client
	mu       sync.Mutex
	edge     string // current edge
	sending  map[string]*sync.WaitGroup
	answered atomic.Int64
	sawLater atomic.Bool
}

func (s *service) use(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.edge, s.sending[url] = url, &sync.WaitGroup{}
}

// drain returns when all requests to the edge have been sent; answers may be pending.
func (s *service) drain(url string) {
	s.mu.Lock()
	last := s.sending[url]
	s.mu.Unlock()
	last.Wait()
}

// call sends a request and returns the revision and the body of the answer, or an
// error text. It retries while a busy machine delays the acknowledgement of a write.
func (s *service) call(ctx context.Context, method, path, revision, body string) (answered, answer, wrong string) {
	for retried := false; ; retried = true {
		answered, answer, wrong = s.try(ctx, method, path, revision, body)
		switch {
		case retried && strings.HasPrefix(wrong, "409 "): // the tag was stored before
			return "", "", ""
		case !strings.Contains(wrong, "NATS did not acknowledge the operation in time"):
			return answered, answer, wrong
		}
	}
}

func (s *service) try(ctx context.Context, method, path, revision, body string) (answered, answer, wrong string) {
	s.mu.Lock()
	edge, sending := s.edge, s.sending[s.edge]
	sending.Add(1)
	s.mu.Unlock()
	sent := sync.OnceFunc(sending.Done)
	defer sent()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { sent() }})
	req, err := http.NewRequestWithContext(ctx, method, edge+path, strings.NewReader(body))
	if err != nil {
		return "", "", err.Error()
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Cairn-Later", "1")
	if revision != "" {
		req.Header.Set(bus.HeaderMinRevision, revision)
	}
	res, err := s.http.Do(req)
	if err != nil {
		return "", "", err.Error()
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return "", "", err.Error()
	}
	if res.StatusCode >= 300 {
		return "", "", strconv.Itoa(res.StatusCode) + " " + path + " " + string(text)
	}
	if strings.Contains(string(text), `"later":[1]`) {
		s.sawLater.Store(true)
	}
	return res.Header.Get(bus.HeaderRevision), string(text), ""
}

// tag writes, reads and deletes a tag.
func (s *service) tag(ctx context.Context, id string) string {
	_, _, wrong := s.call(ctx, "POST", "/tags/write", "",
		`{"request_id":"`+id+`","flow":"f","tags":{"x":1},"unheard_of":{}}`)
	if wrong != "" {
		return wrong
	}
	_, answer, wrong := s.call(ctx, "GET", "/tags/"+id, "", "")
	if wrong != "" || !strings.Contains(answer, `"flow":"f"`) {
		return wrong + answer
	}
	_, _, wrong = s.call(ctx, "DELETE", "/tags/"+id, "", "")
	return wrong
}

// record registers a skill and reads it.
func (s *service) record(ctx context.Context, id string) string {
	name := `{"skill_id":"upgrade.` + id + `"`
	revision, _, wrong := s.call(ctx, "POST", "/register/skill", "",
		`{"unheard_of":1,"record":`+name+`,"purpose":"upgrade `+id+`","unheard_of":1}}`)
	if wrong != "" {
		return wrong
	}
	_, answer, wrong := s.call(ctx, "POST", "/resolve/skill", revision, name+`,"unheard_of":1}`)
	if wrong != "" || !strings.Contains(answer, `"purpose":"upgrade `+id+`"`) {
		return wrong + answer
	}
	return ""
}

// search registers a skill and searches for it.
func (s *service) search(ctx context.Context, id string) string {
	revision, _, wrong := s.call(ctx, "POST", "/register/skill", "",
		`{"record":{"skill_id":"upgrade.`+id+`","purpose":"find `+id+`"}}`)
	if wrong != "" {
		return wrong
	}
	_, answer, wrong := s.call(ctx, "POST", "/resolve/skill", revision, `{"query":"find `+id+`","unheard_of":1}`)
	if wrong != "" || !strings.Contains(answer, `"upgrade.`+id+`"`) {
		return wrong + answer
	}
	return ""
}

// analyze reads a complete answer.
func (s *service) analyze(ctx context.Context, _ string) string {
	_, answer, wrong := s.call(ctx, "POST", "/api/v1/analyze", "",
		`{"query":"how many hosts?","target":"H","context":"{\"hosts\":[{},{}]}","unheard_of":1}`)
	if wrong != "" {
		return wrong
	}
	kinds := slices.DeleteFunc(strings.Split(answer, "\n"), func(line string) bool {
		return !strings.HasPrefix(line, "event: ")
	})
	if len(kinds) < 3 || kinds[len(kinds)-1] != "event: done" || slices.Contains(kinds, "event: error") ||
		!strings.Contains(answer, `"total":2`) {
		return answer
	}
	return ""
}
