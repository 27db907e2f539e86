package overload

import (
	"math"
	"runtime/metrics"
	"time"
)

// schedulerLatency samples how long runnable goroutines wait before they run.
type schedulerLatency struct {
	sample [1]metrics.Sample
	before []uint64
}

// p99 returns the 99th percentile since the last call; 0 if no goroutine ran.
func (l *schedulerLatency) p99() time.Duration {
	l.sample[0].Name = "/sched/latencies:seconds"
	metrics.Read(l.sample[:])
	h := l.sample[0].Value.Float64Histogram()
	since := make([]uint64, len(h.Counts))
	var all uint64
	for i, n := range h.Counts {
		since[i] = n
		if l.before != nil {
			since[i] -= l.before[i]
		}
		all += since[i]
	}
	l.before = append(l.before[:0], h.Counts...)
	rest := uint64(math.Ceil(0.99 * float64(all)))
	for i, n := range since {
		if rest <= n {
			return seconds(h.Buckets[i])
		}
		rest -= n
	}
	return 0
}

// seconds is the lower bound of a bucket, which may be minus infinity.
func seconds(s float64) time.Duration { return time.Duration(max(s, 0) * float64(time.Second)) }
