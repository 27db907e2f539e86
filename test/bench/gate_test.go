package bench

import (
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// gate is a reverse proxy that can be shut, and records the searches that it forwards.
type gate struct {
	at      string // host:port
	through *httputil.ReverseProxy
	server  *http.Server // nil while the gate is shut

	mu       sync.Mutex
	searches []search
}

// search is a recorded search request.
type search struct {
	path string
	body []byte
}

// gateTo returns an open gate to the server. It is shut at the end of the benchmark.
func gateTo(b *testing.B, to string) *gate {
	b.Helper()
	target, err := url.Parse(to)
	must(b, err)
	g := &gate{at: "127.0.0.1:0", through: httputil.NewSingleHostReverseProxy(target)}
	g.through.ErrorLog = log.New(io.Discard, "", 0)
	g.through.Transport = &http.Transport{MaxIdleConnsPerHost: 16}
	g.open(b)
	b.Cleanup(g.shut)
	return g
}

func (g *gate) open(b *testing.B) {
	b.Helper()
	if g.server != nil {
		return
	}
	l, err := net.Listen("tcp", g.at)
	must(b, err)
	g.at, g.server = l.Addr().String(), &http.Server{Handler: g}
	go func(s *http.Server) { _ = s.Serve(l) }(g.server) // returns after Close
}

// shut closes all connections and the listener.
func (g *gate) shut() {
	if g.server != nil {
		_ = g.server.Close() // clients see the closed connections
		g.server = nil
	}
}

// ServeHTTP implements http.Handler.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/_msearch") {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		g.mu.Lock()
		g.searches = append(g.searches, search{r.URL.RequestURI(), body})
		g.mu.Unlock()
	}
	g.through.ServeHTTP(w, r)
}

// taken returns the searches since its last call.
func (g *gate) taken() []search {
	g.mu.Lock()
	defer g.mu.Unlock()
	taken := slices.Clone(g.searches)
	g.searches = nil
	return taken
}
