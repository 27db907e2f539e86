package bench

import (
	"fmt"
	"math"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	// soakFor is how long load is put; CAIRN_BENCH_SOAK says otherwise.
	soakFor = 10 * time.Minute
	// overFor is how long too much load is put.
	overFor = time.Minute
)

// BenchmarkSoak puts the mixed load for long on "cairn up" at 70% of what it
// bears, and reports whether memory or goroutines grow; then half as much again
// as it bears, and reports how soon that is refused, and how soon all is well
// when it ends. It fails past the targets; p99/p50 has none, since it depends on
// the machine that also asks.
func BenchmarkSoak(b *testing.B) {
	length := soakFor
	if d, err := time.ParseDuration(os.Getenv("CAIRN_BENCH_SOAK")); err == nil {
		length = d
	}
	at := up(b)
	url := "http://" + at.at
	on := []string{"--url", url, "--connections", "512"} // the same in all parts, so that their rates bear comparison
	highest := benched(b, append(on, "--rate", "max", "--for", "20s")...)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(highest.Rate, "highest/s")

	var w watched
	r := benchedWhile(b, func() { w.look(b, at) }, append(on, "--rate", fmt.Sprint(0.7*highest.Rate), "--for", length.String(), "--max-errors", "1")...)
	w.report(b)
	all := r.Operations[len(r.Operations)-1]
	atMost(b, float64(all.Failed()), "failed", 0)
	for _, o := range r.Operations {
		b.ReportMetric(o.Latency.At(99)/o.Latency.At(50), strings.ReplaceAll(o.Operation, " ", "-")+"-p99/p50")
	}

	calm := p50Of(b, url)
	over := benched(b, append(on, "--rate", fmt.Sprint(1.5*highest.Rate), "--for", overFor.String(), "--max-errors", "1")...)
	ended := time.Now()
	for p50Of(b, url) > 2*calm && time.Since(ended) < overFor {
	}
	atMost(b, time.Since(ended).Seconds(), "recovery-s", 2)
	all = over.Operations[len(over.Operations)-1]
	b.ReportMetric(all.Rate(), "over-answered/s")
	b.ReportMetric(100*float64(all.Refused())/float64(all.Count), "over-refused-%")
	atMost(b, all.Refusals.At(99), "over-refusal-p99-ms", 50)
	b.ReportMetric(float64(all.Failed()-all.Refused()), "over-failed")
	b.ReportMetric(all.Latency.At(99), "over-p99-ms")
}

// watched is what a process was at, over time.
type watched struct{ resident, goroutines []float64 }

var goroutines = regexp.MustCompile(`(?m)^go_goroutines ([0-9]+)$`)

// look notes what the process is at now.
func (w *watched) look(b *testing.B, s server) {
	b.Helper()
	w.resident = append(w.resident, s.resident(b))
	found := goroutines.FindStringSubmatch(get(b, "http://"+s.at+"/metrics"))
	if found == nil {
		b.Fatal("no go_goroutines in the metrics")
	}
	n, err := strconv.ParseFloat(found[1], 64)
	must(b, err)
	w.goroutines = append(w.goroutines, n)
}

// report says what the last quarter of the time was beside the quarter before.
func (w *watched) report(b *testing.B) {
	b.Helper()
	for _, of := range []struct {
		name string
		list []float64
		most float64 // growth, in percent
	}{
		{"resident", w.resident, 5},
		{"goroutines", w.goroutines, 10}, // they vary with what is in flight
	} {
		n := len(of.list)
		third, last := median(of.list[n/2:3*n/4]), median(of.list[3*n/4:])
		atMost(b, 100*(last/third-1), of.name+"-growth-%", of.most)
		b.ReportMetric(last, of.name)
		b.Logf("%s: %.0f at a quarter, %.0f at half, %.0f at the end", of.name, of.list[n/4], of.list[n/2], of.list[n-1])
	}
}

// p50Of is the median time of a few reads, one after the other, in seconds; a
// refusal takes forever.
func p50Of(b *testing.B, url string) float64 {
	var took []float64
	for range 21 {
		began := time.Now()
		res, err := http.Get(url + "/skills?limit=1")
		must(b, err)
		must(b, res.Body.Close())
		if res.StatusCode != http.StatusOK {
			took = append(took, math.Inf(1))
			continue
		}
		took = append(took, time.Since(began).Seconds())
	}
	return median(took)
}
