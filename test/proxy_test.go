package test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// mode is a behaviour of a proxy.
type mode string

const (
	healthy mode = "healthy"
	refused mode = "connections are refused"
	closed  mode = "connections are closed"
	slow    mode = "answers take 5 seconds"
	hanging mode = "no answers"
	full    mode = "status 429"
	failing mode = "status 503"
	halved  mode = "every other document of a bulk request is rejected with 429"
)

// proxy is a reverse proxy that injects faults.
type proxy struct {
	url       string
	target    *url.URL
	through   *httputil.ReverseProxy
	transport *http.Transport

	mu      sync.Mutex
	mode    mode
	changed chan struct{} // closed when the mode changes
	poison  string        // bulk documents that contain it are rejected with 400; empty: none
	server  *http.Server  // nil while connections are refused
	serving sync.WaitGroup
}

// newProxy starts a proxy of the server in mode healthy. It is stopped with the test.
func newProxy(t testing.TB, server string) *proxy {
	t.Helper()
	target, err := url.Parse(server)
	must(t, err)
	p := &proxy{url: "http://127.0.0.1:0", target: target, transport: &http.Transport{MaxIdleConnsPerHost: 16},
		mode:    refused,
		changed: make(chan struct{})}
	p.through = httputil.NewSingleHostReverseProxy(target)
	p.through.Transport, p.through.ErrorLog = p.transport, log.New(io.Discard, "", 0)
	p.through.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	p.setMode(t, healthy)
	t.Cleanup(func() {
		p.setMode(t, refused)
		p.serving.Wait()
		p.transport.CloseIdleConnections()
	})
	return p
}

// setMode changes the mode, also for requests that hang.
func (p *proxy) setMode(t testing.TB, m mode) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = m
	close(p.changed)
	p.changed = make(chan struct{})
	switch {
	case m == refused && p.server != nil:
		_ = p.server.Close() // clients see the error
		p.server = nil
	case m != refused && p.server == nil:
		listener, err := net.Listen("tcp", strings.TrimPrefix(p.url, "http://"))
		must(t, err)
		p.url = "http://" + listener.Addr().String()
		server := &http.Server{Handler: p, ErrorLog: log.New(io.Discard, "", 0)}
		p.server = server
		p.serving.Go(func() { _ = server.Serve(listener) }) // returns when the server is closed
	}
}

// rejectDocuments rejects bulk documents that contain the text; none if it is empty.
func (p *proxy) rejectDocuments(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.poison = text
}

// ServeHTTP implements http.Handler.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body) // net/http detects a disconnect only after the body is read
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	p.mu.Lock()
	m, changed, poison := p.mode, p.changed, p.poison
	p.mu.Unlock()
	switch m {
	case closed, refused:
		panic(http.ErrAbortHandler)
	case hanging:
		select {
		case <-changed:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	case slow:
		select {
		case <-time.After(5 * time.Second):
		case <-r.Context().Done():
			return
		}
	case full, failing:
		status := map[mode]int{full: http.StatusTooManyRequests, failing: http.StatusServiceUnavailable}[m]
		http.Error(w, `{"error":{"type":"busy","reason":"come back later"}}`, status)
		return
	}
	if strings.HasSuffix(r.URL.Path, "/_bulk") && (m == halved || poison != "") {
		p.bulk(w, r, body, rejection(m, poison))
		return
	}
	p.through.ServeHTTP(w, r)
}

// rejection returns a function that returns the status for a rejected document, or 0.
func rejection(m mode, poison string) func(i int, document string) int {
	return func(i int, document string) int {
		switch {
		case poison != "" && strings.Contains(document, poison):
			return http.StatusBadRequest
		case m == halved && i%2 == 0:
			return http.StatusTooManyRequests
		}
		return 0
	}
}

// item is the result of one document of a bulk request.
type item struct {
	Index json.RawMessage `json:"index"`
}

// bulk forwards the documents that are not rejected.
func (p *proxy) bulk(w http.ResponseWriter, r *http.Request, body []byte, reject func(int, string) int) {
	lines := strings.SplitAfter(string(body), "\n")
	var kept strings.Builder
	items := make([]item, len(lines)/2)
	for i := range items {
		if status := reject(i, lines[2*i+1]); status != 0 {
			items[i].Index = fmt.Appendf(nil, `{"status":%d,"error":{"type":"refused","reason":"by the proxy"}}`, status)
			continue
		}
		kept.WriteString(lines[2*i] + lines[2*i+1])
	}
	taken, err := p.forward(r, kept.String())
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	for i := range items {
		if items[i].Index == nil {
			items[i], taken = taken[0], taken[1:]
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"errors": true, "items": items}) // fails if the client has disconnected
}

// forward sends the documents to the server and returns their results.
func (p *proxy) forward(r *http.Request, documents string) ([]item, error) {
	if documents == "" {
		return nil, nil
	}
	req, err := http.NewRequestWithContext(r.Context(), r.Method, p.target.String()+r.URL.RequestURI(),
		strings.NewReader(documents))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	res, err := p.transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct{ Items []item }
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if n := strings.Count(documents, "\n") / 2; len(answer.Items) != n {
		return nil, fmt.Errorf("%d answers for %d documents", len(answer.Items), n)
	}
	return answer.Items, nil
}
