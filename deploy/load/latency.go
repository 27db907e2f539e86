package load

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/go-json-experiment/json"
)

const (
	// longest is the longest latency that is told from longer ones.
	longest = 10 * time.Minute
	// fine and coarse are the digits to which latencies are told apart, in the
	// whole and in a slot.
	fine, coarse = 3, 2
)

// Latency is a distribution of latencies. It is not safe for concurrent use.
type Latency struct{ histogram *hdrhistogram.Histogram }

func newLatency(digits int) *Latency {
	return &Latency{hdrhistogram.New(1, longest.Microseconds(), digits)}
}

func (l *Latency) add(d time.Duration) {
	_ = l.histogram.RecordValue(min(max(d, time.Microsecond), longest).Microseconds()) // it is within range
}

// Count is how many latencies there are.
func (l *Latency) Count() int { return int(l.histogram.TotalCount()) }

// At is the latency, in milliseconds, that the percentage of all do not exceed;
// 0 when there is none.
func (l *Latency) At(percent float64) float64 {
	return float64(l.histogram.ValueAtPercentile(percent)) / 1000
}

// Max is the largest, in milliseconds.
func (l *Latency) Max() float64 { return l.At(100) }

// latencyJSON is a Latency as it is written: the histogram as all tools of
// HdrHistogram read it, in microseconds, and figures for who has none.
type latencyJSON struct {
	Count     int     `json:"count"`
	P50       float64 `json:"p50_ms"`
	P90       float64 `json:"p90_ms"`
	P99       float64 `json:"p99_ms"`
	P999      float64 `json:"p99_9_ms"`
	Max       float64 `json:"max_ms"`
	Histogram string  `json:"hdr_histogram_us"`
}

// MarshalJSON writes figures, and the histogram.
func (l *Latency) MarshalJSON() ([]byte, error) {
	text, err := l.histogram.EncodeV2()
	if err != nil {
		return nil, err
	}
	return json.Marshal(latencyJSON{l.Count(), l.At(50), l.At(90), l.At(99), l.At(99.9), l.Max(), string(text)})
}

// UnmarshalJSON reads what MarshalJSON writes, of which the histogram counts.
func (l *Latency) UnmarshalJSON(text []byte) error {
	var is latencyJSON
	if err := json.Unmarshal(text, &is); err != nil {
		return err
	}
	h, err := hdrhistogram.Decode([]byte(is.Histogram))
	if err != nil {
		return fmt.Errorf("hdr_histogram_us: %w", err)
	}
	l.histogram = h
	return nil
}
