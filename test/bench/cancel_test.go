package bench

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/test/cairntest"
)

const (
	// maxAfterCancel is the guaranteed time from the cancellation of an analysis to the end of
	// its CPU use.
	maxAfterCancel = 250 * time.Millisecond
	// cpuWindow is the time resolution; a server that uses more than one tick (10 ms) of CPU time
	// in it is not idle.
	cpuWindow = 50 * time.Millisecond
)

// BenchmarkCancel cancels an analysis during its computation and measures the CPU use of the server
// after the response to the cancellation: the CPU time, and the time until it is idle. The
// analysis would use seconds of CPU time (TestEndedAnalysesStop).
func BenchmarkCancel(b *testing.B) {
	cairn := up(b)
	conn := bustest.DialURL(b, cairn.process.NATS())
	var used, until []float64
	for range rounds(b) {
		run := bus.NewRun()
		ctx, stop := context.WithCancel(b.Context())
		var running sync.WaitGroup
		begun := cairn.cpuTime(b)
		running.Go(func() {
			for _, err := range bus.Analyze.Run(ctx, conn, run, []byte(cairntest.HeavyAnalysis(run, 16))) {
				if err != nil { // the run is canceled
					return
				}
			}
		})
		for cairn.cpuTime(b) < begun+1e6 { // parsing takes a part of it
			time.Sleep(10 * time.Millisecond)
		}
		req, err := http.NewRequestWithContext(b.Context(), http.MethodDelete, "http://"+cairn.address+"/api/v1/analyze/"+run,
			nil)
		must(b, err)
		res, err := http.DefaultClient.Do(req)
		must(b, err)
		must(b, res.Body.Close())
		if res.StatusCode != http.StatusNoContent {
			b.Fatalf("DELETE: %d", res.StatusCode)
		}
		took, last := cairn.idle(b)
		used, until = append(used, took), append(until, milliseconds(last))
		stop()
		running.Wait()
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(used)/1000, "cpu-ms")
	atMost(b, median(until), "until-idle-ms", milliseconds(maxAfterCancel))
}

// idle waits until the server is idle. It returns the CPU time that it used in microseconds,
// and the time from the call until it was idle.
func (s server) idle(b *testing.B) (used float64, after time.Duration) {
	b.Helper()
	const tick, windows = 10_000, 4
	began, before := time.Now(), s.cpuTime(b)
	now := before
	for quiet := 0; quiet < windows; quiet++ {
		time.Sleep(cpuWindow)
		next := s.cpuTime(b)
		if next > now+tick {
			quiet, used, after = -1, next-before, time.Since(began)
		}
		now = next
	}
	return used, after
}
