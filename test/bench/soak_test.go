package bench

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"cairn/deploy/load"
	"cairn/test/cairntest"
)

const (
	// soakFor is the default duration of the load; CAIRN_BENCH_SOAK overrides it.
	soakFor = 10 * time.Minute
	// overFor is the duration of the overload.
	overFor = time.Minute
	// lookEvery is the sampling interval of a process under load.
	lookEvery = 2 * time.Second
)

// BenchmarkSoak sends the mixed load to "cairn up" at 70% of the maximum rate and reports
// the growth of memory and goroutines. It then sends 150% of the maximum rate and reports
// the latency of refusals and the time to recover. It fails if a target is exceeded; p99/p50 has
// no target, because it depends on the machine, which also generates the load.
func BenchmarkSoak(b *testing.B) {
	length := soakFor
	if d, err := time.ParseDuration(os.Getenv("CAIRN_BENCH_SOAK")); err == nil {
		length = d
	}
	cairn := up(b)
	url := "http://" + cairn.address
	target := []string{"--url", url, "--connections", "512"} // the same in all phases, so that their rates are comparable
	highest := benched(b, append(target, "--rate", "max", "--for", "20s")...)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(highest.Rate, "highest/s")

	var w watched
	r := benchedWhile(b, func() {
		w.look(b, cairn)
	}, append(target, "--rate", fmt.Sprint(0.7*highest.Rate), "--for", length.String(),
		"--max-errors", "1")...)
	w.report(b)
	all := r.Operations[len(r.Operations)-1]
	atMost(b, float64(all.Failed()), "failed", 0)
	for _, o := range r.Operations {
		b.ReportMetric(o.Latency.At(99)/o.Latency.At(50), strings.ReplaceAll(o.Operation, " ", "-")+"-p99/p50")
	}

	calm := p50Of(b, url)
	over := benched(b, append(target, "--rate", fmt.Sprint(1.5*highest.Rate), "--for", overFor.String(), "--max-errors",
		"1")...)
	ended := time.Now()
	for p50Of(b, url) > 2*calm && time.Since(ended) < overFor {
	}
	atMost(b, time.Since(ended).Seconds(), "recovery-s", 2)
	all = over.Operations[len(over.Operations)-1]
	b.ReportMetric(all.Rate(), "over-answered/s")
	b.ReportMetric(100*float64(all.Refused())/float64(all.Count), "over-refused-%")
	// the edge delays refusals of clients that ignore Retry-After
	b.ReportMetric(all.Refusals.At(99), "over-refusal-p99-ms")
	b.ReportMetric(float64(all.Failed()-all.Refused()), "over-failed")
	b.ReportMetric(all.Latency.At(99), "over-p99-ms")
}

// watched contains samples of a process over time.
type watched struct{ resident, goroutines []float64 }

// look adds a sample of the process.
func (w *watched) look(b *testing.B, s server) {
	b.Helper()
	w.resident = append(w.resident, memoryOf(b, s.pids[0], "VmRSS"))
	w.goroutines = append(w.goroutines, metric(b, "http://"+s.address, "go_goroutines"))
}

// report compares the last quarter of the samples with the quarter before.
func (w *watched) report(b *testing.B) {
	b.Helper()
	for _, figure := range []struct {
		name string
		list []float64
		most float64 // growth, in percent
	}{
		{"resident", w.resident, 5},
		{"goroutines", w.goroutines, 10}, // depends on the number of requests in flight
	} {
		n := len(figure.list)
		third, last := median(figure.list[n/2:3*n/4]), median(figure.list[3*n/4:])
		atMost(b, 100*(last/third-1), figure.name+"-growth-%", figure.most)
		b.ReportMetric(last, figure.name)
		b.Logf("%s: %.0f at a quarter, %.0f at half, %.0f at the end", figure.name, figure.list[n/4], figure.list[n/2],
			figure.list[n-1])
	}
}

// p50Of returns the median latency of sequential reads in seconds; refused requests count
// as infinite.
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

// benched runs "cairn bench" with the mixed load and returns its result.
func benched(b *testing.B, flags ...string) load.Result {
	b.Helper()
	return benchedWhile(b, func() {}, flags...)
}

// benchedWhile is benched with periodic calls of look.
func benchedWhile(b *testing.B, look func(), flags ...string) (r load.Result) {
	b.Helper()
	file := filepath.Join(b.TempDir(), "result.json")
	cmd := exec.Command(cairntest.Program(b), append([]string{"bench", "--json", file}, flags...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	must(b, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			if err != nil {
				b.Fatalf("cairn bench: %v\n%s", err, out.Bytes())
			}
			b.Logf("%s", out.Bytes())
			text, err := os.ReadFile(file)
			must(b, err)
			must(b, json.Unmarshal(text, &r))
			return r
		case <-time.After(lookEvery):
			look()
		}
	}
}
