package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// probers is the number of concurrent requests of each kind.
	probers = 4
	// probePause is the pause between two requests.
	probePause = 100 * time.Millisecond
)

// probe sends requests continuously and records which of them were acknowledged, and when.
type probe struct {
	at        string
	http      *http.Client
	running    sync.WaitGroup
	stop      context.CancelFunc
	ctx       context.Context
	count     atomic.Int64
	mu        sync.Mutex
	successes map[string][]time.Time // times of the expected responses, by kind
	failed    map[string]int
	written   []string // acknowledged tags
	records   []string
	kills     []kill

	began, ended time.Time
}

type kill struct {
	what string
	at   time.Time
}

// newProbe returns a probe of the address after a request of each kind has succeeded.
func newProbe(b *testing.B, at string) *probe {
	p := &probe{at: "http://" + at, http: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
		successes: map[string][]time.Time{}, failed: map[string]int{}}
	p.ctx, p.stop = context.WithCancel(b.Context())
	p.await(b, "the known record", func(string) bool { return p.register("known") })
	for kind, send := range p.kinds() {
		p.await(b, kind, send)
	}
	return p
}

func (p *probe) await(b *testing.B, kind string, send func(id string) bool) {
	for end := time.Now().Add(startTime); !send(fmt.Sprint("first", p.count.Add(1))); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			b.Fatalf("%s: no answer as it should be", kind)
		}
	}
}

// kinds returns the kinds of requests.
func (p *probe) kinds() map[string]func(id string) bool {
	return map[string]func(id string) bool{"tags": p.tag, "register": p.register, "by-id": p.byID, "analyze": p.analyze}
}

func (p *probe) begin() {
	p.began = time.Now()
	for kind, send := range p.kinds() {
		for range probers {
			p.running.Go(func() { p.send(kind, send) })
		}
	}
}

func (p *probe) send(kind string, send func(id string) bool) {
	for p.ctx.Err() == nil {
		ok := send(fmt.Sprint("probe", p.count.Add(1)))
		p.mu.Lock()
		if ok {
			p.successes[kind] = append(p.successes[kind], time.Now())
		} else {
			p.failed[kind]++
		}
		p.mu.Unlock()
		select {
		case <-p.ctx.Done():
		case <-time.After(probePause):
		}
	}
}

func (p *probe) tag(id string) bool {
	ok := p.post("/tags/write", `{"request_id":"`+id+`","flow":"f"}`, 201)
	p.keep(ok, &p.written, id)
	return ok
}

func (p *probe) register(id string) bool {
	ok := p.post("/register/skill", `{"record":{"skill_id":"kills.`+id+`"}}`, 200)
	p.keep(ok, &p.records, id)
	return ok
}

func (p *probe) byID(string) bool {
	return p.post("/resolve/skill", `{"skill_id":"kills.known"}`, 200)
}

func (p *probe) analyze(string) bool {
	return p.post("/api/v1/analyze", `{"query":"how many hosts are there?","context":"{\"hosts\":[{},{}]}","target":"H"}`, 200)
}

func (p *probe) keep(ok bool, list *[]string, id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ok {
		*list = append(*list, id)
	}
}

// post sends a request and reports whether the response is complete and has the status.
func (p *probe) post(path, body string, status int) bool {
	res, err := p.http.Post(p.at+path, "application/json", bytes.NewReader([]byte(body)))
	if err != nil {
		return false
	}
	defer func() { _ = res.Body.Close() }()
	_, err = io.Copy(io.Discard, res.Body)
	return err == nil && res.StatusCode == status
}

func (p *probe) note(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kills = append(p.kills, kill{what, time.Now()})
}

// end stops the requests and waits for them.
func (p *probe) end() {
	p.ended = time.Now()
	p.stop()
	p.running.Wait()
}

// report reports the longest gap without a response for each kind, and the number of lost writes.
func (p *probe) report(b *testing.B) {
	for kind := range p.kinds() {
		times := append(p.successes[kind], p.began, p.ended) // gaps at the start and at the end count, too
		slices.SortFunc(times, time.Time.Compare)
		var longest time.Duration
		for i, at := range times[1:] {
			if gap := at.Sub(times[i]); gap > time.Second {
				b.Logf("no %s for %.1f s, %s", kind, gap.Seconds(), p.after(times[i]))
			}
			longest = max(longest, at.Sub(times[i]))
		}
		atMost(b, longest.Seconds(), kind+"-gap-s", 3)
		b.Logf("%s by the probe: %d, and %d failed", kind, len(p.successes[kind]), p.failed[kind])
	}
	lost := 0
	for _, id := range p.written {
		if res, err := p.http.Get(p.at + "/tags/" + id); err != nil || res.StatusCode != 200 || res.Body.Close() != nil {
			lost++
		}
	}
	for _, id := range p.records {
		if !p.post("/resolve/skill", `{"skill_id":"kills.`+id+`"}`, 200) {
			lost++
		}
	}
	b.ReportMetric(float64(len(p.written)+len(p.records)), "acknowledged")
	atMost(b, float64(lost), "lost", 0)
}

// after describes the last kill before a gap that began at the given time, or in its first second.
func (p *probe) after(began time.Time) string {
	for _, k := range slices.Backward(p.kills) {
		if k.at.Before(began.Add(time.Second)) {
			return fmt.Sprintf("%.1f s after %s was killed", began.Sub(k.at).Seconds(), k.what)
		}
	}
	return "before the first kill"
}

// balance starts a TCP load balancer that distributes connections round-robin to the
// reachable addresses of the list.
func balance(b *testing.B, to []string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(b, err)
	var passing sync.WaitGroup
	b.Cleanup(func() { _ = l.Close(); passing.Wait() })
	passing.Go(func() {
		for n := 0; ; n++ {
			from, err := l.Accept()
			if err != nil {
				return
			}
			passing.Go(func() { pass(from, to[n%len(to)], to[(n+1)%len(to)]) })
		}
	})
	return l.Addr().String()
}

// pass forwards a connection to the first of two addresses that is reachable.
func pass(from net.Conn, one, other string) {
	defer func() { _ = from.Close() }()
	to, err := net.Dial("tcp", one)
	if err != nil {
		to, err = net.Dial("tcp", other)
	}
	if err != nil {
		return
	}
	var back sync.WaitGroup
	back.Go(func() { _, _ = io.Copy(from, to); _ = from.Close() })
	_, _ = io.Copy(to, from)
	_ = to.Close()
	back.Wait()
}
