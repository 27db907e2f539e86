package edge_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/bus/natsserver"
	"cairn/schemas"
)

// BenchmarkForward compares a request through the edge with a handler that only forwards
// bytes to NATS and back, on the same server.
func BenchmarkForward(b *testing.B) {
	server, conn := onTCP(b)
	worker := bustest.Dial(b, server)
	f := serve(b, conn)
	stub(b, bustest.Service(b, worker, "stub"))
	withoutBody := bareHandler(b, server.URL())

	for _, c := range []struct{ name, url, body string }{
		{"resolve/edge", f.url + "/resolve/skill", `{"skill_id":"network.find_vlans","tenant_id":"acme"}`},
		{"resolve/bare", withoutBody + "/resolve", `{"skill_id":"network.find_vlans","tenant_id":"acme"}`},
		{"tag/edge", f.url + "/tags/write", `{"request_id":"r-1","flow":"analysis","tags":{"phase":"routing"}}`},
		{"tag/bare", withoutBody + "/tag", `{"request_id":"r-1","flow":"analysis","tags":{"phase":"routing"}}`},
	} {
		b.Run(c.name+"/1", func(b *testing.B) { load(b, 1, c.url, c.body) })
		b.Run(c.name+"/32", func(b *testing.B) { load(b, 32, c.url, c.body) })
	}
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
	must(b,
		bus.ResolveSkill.Serve(s, func(context.Context, schemas.SkillQuery) (schemas.SkillAnswer, error) {
			return schemas.SkillAnswer{Package: &packaged}, nil
		}),
		bus.WriteTag.Serve(s, func(_ context.Context, w schemas.TagWrite) (schemas.TagWritten, error) {
			return schemas.TagWritten{RequestID: w.RequestID, Flow: w.Flow}, nil
		}))
}

// bareHandler starts an HTTP server that only sends a request over NATS, and returns its URL.
func bareHandler(b *testing.B, natsURL string) string {
	b.Helper()
	caller, err := nats.Connect(natsURL)
	must(b, err)
	b.Cleanup(caller.Close)
	echo, err := nats.Connect(natsURL)
	must(b, err)
	b.Cleanup(echo.Close)
	body, err := schemas.SkillAnswer{Package: &packaged}.MarshalJSON()
	must(b, err)
	for path, answer := range map[string][]byte{"resolve": body, "tag": []byte(`{"request_id":"r-1","flow":"analysis"}`)} {
		_, err = echo.Subscribe("bare."+path, func(m *nats.Msg) { _ = m.Respond(answer) })
		must(b, err)
	}
	must(b, echo.Flush())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			b.Error(err)
		}
		m, err := caller.RequestWithContext(r.Context(), "bare."+r.URL.Path[1:], body)
		if err != nil {
			b.Error(err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(m.Data)
	}))
	b.Cleanup(server.Close)
	return server.URL
}

// load sends b.N requests over the given number of connections and reports the latencies.
func load(b *testing.B, connections int, url, body string) {
	transport := &http.Transport{MaxIdleConnsPerHost: connections}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	took := make([][]time.Duration, connections)
	var running sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for i := range connections {
		running.Go(func() {
			for range (b.N + i) / connections {
				began := time.Now()
				post(b, client, url, body)
				took[i] = append(took[i], time.Since(began))
			}
		})
	}
	running.Wait()
	b.StopTimer()
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	if len(all) > 0 {
		b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-µs")
		b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
		b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "req/s")
	}
}

func post(b *testing.B, client *http.Client, url, body string) {
	res, err := client.Post(url, "application/json", bytes.NewReader([]byte(body)))
	if err != nil {
		b.Error(err)
		return
	}
	_, err = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	if err != nil || res.StatusCode >= 300 {
		b.Errorf("%s: %d, %v", url, res.StatusCode, err)
	}
}

// BenchmarkStream receives analyses of a thousand events each.
func BenchmarkStream(b *testing.B) {
	const events = 1000
	f := open(b)
	must(b, bus.Analyze.Serve(f.service, func(_ context.Context, _ schemas.Analysis, s bus.Sender) (err error) {
		for range events {
			err = errors.Join(err, s.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "a few words "}))
		}
		return err
	}))
	b.ReportAllocs()
	for b.Loop() {
		post(b, f.client, f.url+"/api/v1/analyze", question)
	}
	b.ReportMetric(events*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
