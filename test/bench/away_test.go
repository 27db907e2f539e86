package bench

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"
	"time"
)

// BenchmarkResolveByIDWithoutElasticsearch compares resolving a skill by id while
// Elasticsearch is unavailable and while it is available.
func BenchmarkResolveByIDWithoutElasticsearch(b *testing.B) {
	elastic, prefix := elasticServer(b)
	g := gateTo(b, elastic)
	at := up(b, "--index", "http://"+g.at+prefix)
	teacher := dial(b, at.at)
	for _, k := range knowledge {
		must(b, teacher.post(k[0], []byte(k[1]), http.StatusOK))
	}
	byID := side{path: "/resolve/skill", status: http.StatusOK, body: func(int) []byte {
		return []byte(`{"skill_id":"network.find_vlans","tenant_id":"acme"}`)
	}}
	away, there := newSide(b, at, 1, byID), newSide(b, at, 1, byID)
	away.before = func() {
		g.shut()
		waitSearch(b, at, "index-unavailable")
	}
	there.before = func() {
		g.open(b)
		waitSearch(b, at, "")
	}
	a, t := compare(b, 5000, away, there)
	b.ReportMetric(0, "ns/op")
	for unit, figure := range map[string]func(result) float64{"p50-µs": p50, "p99-µs": p99} {
		without, with := each(a, figure), each(t, figure)
		b.ReportMetric(median(without), "away-"+unit)
		b.ReportMetric(median(with), "there-"+unit)
		b.ReportMetric(median(ratios(without, with)), unit+"-ratio")
	}
}

// waitSearch waits for a search response with the given value of degraded.
func waitSearch(b *testing.B, at server, degraded string) {
	b.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		res, err := http.Post("http://"+at.at+"/resolve/skill", "application/json",
			bytes.NewReader([]byte(`{"query":"locate VLANs"}`)))
		must(b, err)
		var answer struct{ Degraded string }
		err = json.NewDecoder(res.Body).Decode(&answer)
		_ = res.Body.Close()
		must(b, err)
		if res.StatusCode == http.StatusOK && answer.Degraded == degraded {
			return
		}
	}
	b.Fatalf("search responses do not have degraded %q", degraded)
}
