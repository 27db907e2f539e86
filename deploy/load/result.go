package load

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Format is the version of Result as JSON.
const Format = 2

// Result is the measurement of a service under a load.
type Result struct {
	Format      int         `json:"format"`
	Name        string      `json:"name"` // set by the caller
	Began       time.Time   `json:"began"`
	Rate        float64     `json:"rate"` // configured requests per second
	Seconds     float64     `json:"seconds"`
	Warm        float64     `json:"warm_seconds"`
	Connections int         `json:"connections"`
	Records     int         `json:"records,omitzero"` // size of the catalog; set by the caller
	Interrupted bool        `json:"interrupted,omitzero"`
	Late        float64     `json:"late"`             // share of requests sent late because all connections were busy
	Slipped     float64     `json:"slipped,omitzero"` // share of requests sent late by a slow client
	Environment Environment `json:"environment"`      // set by the caller
	Operations  []*Measured `json:"operations"`       // the sum of all is last when there are several
	Steps       []Step      `json:"steps,omitempty"`  // of a search for the highest rate
	Notes       []string    `json:"notes,omitempty"`  // set by the caller
}

// Measured is the measurement of an operation.
type Measured struct {
	Operation string         `json:"operation"`
	Share     float64        `json:"share,omitzero"` // configured weight
	Count     int            `json:"count"`
	Seconds   float64        `json:"seconds"`
	Errors    map[string]int `json:"errors,omitempty"`
	// Latency covers successful requests and those without a response in time.
	Latency *Latency `json:"latency"`
	// Refusals is the latency of refused requests.
	Refusals *Latency `json:"refusals,omitzero"`
}

func newMeasured(name string) *Measured {
	return &Measured{Operation: name, Errors: map[string]int{}, Latency: newLatency(), Refusals: newLatency()}
}

func (m *Measured) add(took time.Duration, failure string) {
	m.Count++
	if failure != "" {
		m.Errors[failure]++
	}
	switch {
	case failure == "", failure == TimedOut, failure == NotSent:
		m.Latency.add(took)
	case refusal(failure):
		m.Refusals.add(took)
	}
}

// refusal reports whether an error is load shedding (HTTP 503).
func refusal(failure string) bool { return strings.HasPrefix(failure, "503") }

// Failed returns the number of failed requests.
func (m *Measured) Failed() (n int) {
	for _, count := range m.Errors {
		n += count
	}
	return n
}

// FailedShare returns the share of failed requests; 0 without requests.
func (m *Measured) FailedShare() float64 { return float64(m.Failed()) / float64(max(m.Count, 1)) }

// Refused returns the number of refused requests.
func (m *Measured) Refused() (n int) {
	for code, count := range m.Errors {
		if refusal(code) {
			n += count
		}
	}
	return n
}

// Rate returns the successful requests per second.
func (m *Measured) Rate() float64 {
	if m.Seconds == 0 {
		return 0
	}
	return float64(m.Count-m.Failed()) / m.Seconds
}

// merge combines concurrent measurements, such as those of several operations, under a
// name.
func merge(name string, list ...*Measured) *Measured {
	whole := newMeasured(name)
	for _, m := range list {
		whole.Count += m.Count
		whole.Seconds = max(whole.Seconds, m.Seconds)
		whole.Latency.histogram.Merge(m.Latency.histogram)
		whole.Refusals.histogram.Merge(m.Refusals.histogram)
		for code, n := range m.Errors {
			whole.Errors[code] += n
		}
	}
	return whole
}

// Codes returns the errors, most frequent first.
func (m *Measured) Codes() []string {
	return slices.SortedStableFunc(slices.Values(slices.Sorted(maps.Keys(m.Errors))),
		func(a, b string) int { return m.Errors[b] - m.Errors[a] })
}
