package load

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/go-json-experiment/json"
)

const (
	// longest is the upper end of the histogram.
	longest = 10 * time.Minute
	// digits is the number of significant digits.
	digits = 3
)

// Latency is a distribution of latencies. It is not safe for concurrent use.
type Latency struct{ histogram *hdrhistogram.Histogram }

func newLatency() *Latency {
	return &Latency{hdrhistogram.New(1, longest.Microseconds(), digits)}
}

func (l *Latency) add(d time.Duration) {
	_ = l.histogram.RecordValue(min(max(d, time.Microsecond), longest).Microseconds()) // always within range
}

// Count returns the number of latencies.
func (l *Latency) Count() int { return int(l.histogram.TotalCount()) }

// At returns a percentile in milliseconds; 0 without latencies.
func (l *Latency) At(percent float64) float64 {
	return float64(l.histogram.ValueAtPercentile(percent)) / 1000
}

// Max returns the maximum in milliseconds.
func (l *Latency) Max() float64 { return l.At(100) }

// latencyJSON is the JSON form of Latency: the HdrHistogram in its standard encoding,
// in microseconds, and common percentiles.
type latencyJSON struct {
	Count     int     `json:"count"`
	P50       float64 `json:"p50_ms"`
	P90       float64 `json:"p90_ms"`
	P99       float64 `json:"p99_ms"`
	P999      float64 `json:"p99_9_ms"`
	Max       float64 `json:"max_ms"`
	Histogram string  `json:"hdr_histogram_us"`
}

// MarshalJSON writes the histogram and its percentiles.
func (l *Latency) MarshalJSON() ([]byte, error) {
	text, err := l.histogram.EncodeV2()
	if err != nil {
		return nil, err
	}
	return json.Marshal(latencyJSON{l.Count(), l.At(50), l.At(90), l.At(99), l.At(99.9), l.Max(), string(text)})
}

// UnmarshalJSON reads the histogram and ignores the percentiles.
func (l *Latency) UnmarshalJSON(text []byte) error {
	var encoded latencyJSON
	if err := json.Unmarshal(text, &encoded); err != nil {
		return err
	}
	h, err := hdrhistogram.Decode([]byte(encoded.Histogram))
	if err != nil {
		return fmt.Errorf("hdr_histogram_us: %w", err)
	}
	l.histogram = h
	return nil
}
