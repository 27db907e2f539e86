package edge_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"cairn/bus"
	"cairn/bus/audit"
	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/bus/keys"
	"cairn/bus/natsserver"
	"cairn/edge"
	"cairn/edge/access"
	"cairn/schemas"
)

// BenchmarkAuthentication compares a request that is authenticated by an API key with one
// that needs no authentication. Both edges run in one process, share one connection to NATS
// and are measured alternately, because identical processes differ by more than
// authentication costs.
func BenchmarkAuthentication(b *testing.B) {
	server, conn := onTCP(b)
	stub(b, bustest.Service(b, bustest.Dial(b, server), "stub"))
	must(b, keys.Setup(b.Context(), conn, bucket.Replication{}))
	must(b, audit.Setup(b.Context(), conn.JetStream(), bucket.Replication{}, 0))
	store, err := keys.Open(b.Context(), conn)
	must(b, err)
	_, key, err := store.Create(b.Context(), keys.Key{Role: schemas.RoleReader, Tenants: []string{"acme"}})
	must(b, err)
	asks := func(c *edge.Config) { c.Access = access.Config{Keys: true, Limits: access.Limits{Rate: 1e6}} }
	caller := newCaller(b, serve(b, conn, asks), "Authorization: Bearer "+key+"\r\n")
	anyone := newCaller(b, serve(b, conn), "")
	for range 1000 { // warm-up
		caller.send(b)
		anyone.send(b)
	}
	caller.took, anyone.took = nil, nil
	for n := range b.N {
		if n%2 == 0 {
			caller.send(b)
			anyone.send(b)
		} else {
			anyone.send(b)
			caller.send(b)
		}
	}
	k, a := caller.p50(), anyone.p50()
	b.ReportMetric(0, "ns/op") // meaningless here
	b.ReportMetric(k, "keys-p50-µs")
	b.ReportMetric(a, "off-p50-µs")
	b.ReportMetric(k/a, "p50-ratio")
}

// caller is one connection to an edge with its latencies.
type caller struct {
	conn    net.Conn
	in      *bufio.Reader
	request string
	took    []time.Duration
}

func newCaller(b *testing.B, f *testEdge, header string) *caller {
	b.Helper()
	var d net.Dialer
	conn, err := d.DialContext(context.Background(), "tcp", strings.TrimPrefix(f.url, "http://"))
	must(b, err)
	b.Cleanup(func() { _ = conn.Close() })
	body := `{"skill_id":"network.find_vlans","tenant_id":"acme"}`
	request := fmt.Sprintf("POST /resolve/skill HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s", len(body), header, body)
	return &caller{conn: conn, in: bufio.NewReader(conn), request: request}
}

func (c *caller) send(b *testing.B) {
	began := time.Now()
	_, err := io.WriteString(c.conn, c.request)
	must(b, err)
	res, err := http.ReadResponse(c.in, nil)
	must(b, err)
	_, err = io.Copy(io.Discard, res.Body)
	must(b, err)
	if res.StatusCode != http.StatusOK {
		b.Fatal(res.Status)
	}
	c.took = append(c.took, time.Since(began))
}

// p50 returns the median latency so far, in microseconds.
func (c *caller) p50() float64 {
	sorted := slices.Sorted(slices.Values(c.took))
	return float64(sorted[len(sorted)/2].Nanoseconds()) / 1000
}

// onTCP starts a server and connects to it over TCP, like an edge in a separate process.
func onTCP(b *testing.B) (*natsserver.Server, *bus.Conn) {
	b.Helper()
	server, err := natsserver.Start(b.TempDir(), "127.0.0.1:0")
	must(b, err)
	b.Cleanup(server.Stop)
	conn, err := bus.Open(server.URL(), "edge")
	must(b, err)
	b.Cleanup(conn.Close)
	must(b, conn.WaitConnected(b.Context()))
	return server, conn
}

var packaged = schemas.SkillPackage{
	SkillID:         "network.find_vlans",
	Manifest:        jsontext.Value(`{"skill_id":"network.find_vlans","purpose":"Locate VLANs by site or number"}`),
	ContextBuilders: []jsontext.Value{jsontext.Value(`{"context_builder_id":"network.inventory"}`)},
	Guardrails:      []jsontext.Value{jsontext.Value(`{"guardrail_id":"read_only"}`)},
	Template:        jsontext.Value(`{}`),
	Tools:           []jsontext.Value{jsontext.Value(`{"tool_id":"netbox.vlans.list","tool_class":"inventory"}`)},
}

func stub(b *testing.B, s *bus.Service) {
	b.Helper()
	must(b, bus.ResolveSkill.Serve(s, func(context.Context, schemas.SkillQuery) (schemas.SkillAnswer, error) {
		return schemas.SkillAnswer{Package: &packaged}, nil
	}))
}
