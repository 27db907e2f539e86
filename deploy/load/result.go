package load

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"
)

// Format is the version of Result as JSON. Other versions are rejected.
const Format = 1

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
	Bounds      string      `json:"bounds,omitempty"` // of a search for the highest rate
	Steps       []Step      `json:"steps,omitempty"`  // of a search for the highest rate
	Notes       []string    `json:"notes,omitempty"`  // set by the caller
}

// Measured is the measurement of an operation.
type Measured struct {
	Operation string         `json:"operation"`
	Share     float64        `json:"share,omitzero"` // configured weight; absent in older files
	Count     int            `json:"count"`
	Seconds   float64        `json:"seconds"`
	Errors    map[string]int `json:"errors,omitempty"`
	// Latency covers successful requests and those without a response in time.
	Latency *Latency `json:"latency"`
	// Refusals is the latency of refused requests; absent in older files.
	Refusals *Latency `json:"refusals,omitzero"`
	// Slots are consecutive parts of the time, by the scheduled time of a request.
	Slots []*Slot `json:"slots"`
}

// Slot is the measurement of one part of the time.
type Slot struct {
	At      float64  `json:"at_seconds"`
	Length  float64  `json:"seconds"`
	Count   int      `json:"count"`
	Errors  int      `json:"errors"`
	Latency *Latency `json:"latency"`
}

func newMeasured(name string, n int, length time.Duration) *Measured {
	m := &Measured{Operation: name, Errors: map[string]int{}, Latency: newLatency(fine), Refusals: newLatency(fine)}
	for i := range n {
		m.Slots = append(m.Slots, &Slot{At: (time.Duration(i) * length).Seconds(), Length: length.Seconds(), Latency: newLatency(coarse)})
	}
	return m
}

func (m *Measured) add(slot int, took time.Duration, wrong string) {
	s := m.Slots[slot]
	m.Count++
	s.Count++
	if wrong != "" {
		m.Errors[wrong]++
		s.Errors++
	}
	switch {
	case wrong == "", wrong == TimedOut, wrong == NotSent:
		m.Latency.add(took)
		s.Latency.add(took)
	case refusal(wrong):
		m.Refusals.add(took)
	}
}

// refusal reports whether an error is load shedding (HTTP 503).
func refusal(wrong string) bool { return strings.HasPrefix(wrong, "503") }

// Failed returns the number of failed requests.
func (m *Measured) Failed() (n int) {
	for _, of := range m.Errors {
		n += of
	}
	return n
}

// FailedShare returns the share of failed requests; 0 without requests.
func (m *Measured) FailedShare() float64 { return float64(m.Failed()) / float64(max(m.Count, 1)) }

// Refused returns the number of refused requests.
func (m *Measured) Refused() (n int) {
	for code, of := range m.Errors {
		if refusal(code) {
			n += of
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

// Merge combines concurrent measurements, such as those of several operations, under a
// name.
func Merge(name string, list ...*Measured) *Measured {
	whole := newMeasured(name, 0, 0)
	for _, m := range list {
		whole.Count += m.Count
		whole.Seconds = max(whole.Seconds, m.Seconds)
		whole.Latency.histogram.Merge(m.Latency.histogram)
		whole.Refusals.histogram.Merge(m.Refusals.histogram)
		for code, n := range m.Errors {
			whole.Errors[code] += n
		}
		for i, s := range m.Slots {
			if i == len(whole.Slots) {
				whole.Slots = append(whole.Slots, &Slot{At: s.At, Length: s.Length, Latency: newLatency(coarse)})
			}
			to := whole.Slots[i]
			to.Count += s.Count
			to.Errors += s.Errors
			to.Latency.histogram.Merge(s.Latency.histogram)
		}
	}
	return whole
}

// result returns the measurement of the run.
func (r *run) result(ctx context.Context) *Result {
	took := min(time.Since(r.from), r.For)
	if ctx.Err() == nil {
		took = r.For
	}
	res := &Result{
		Format: Format, Began: r.from, Rate: r.Rate, Seconds: max(took, 0).Seconds(), Warm: r.Warm.Seconds(),
		Connections: r.Connections, Interrupted: ctx.Err() != nil,
		Late:    float64(r.behind.Load()) / float64(max(r.sent.Load(), 1)),
		Slipped: float64(r.slipped.Load()) / float64(max(r.sent.Load(), 1)),
	}
	var whole []*Measured
	for i, to := range r.to {
		list := to.measured(max(took, 0))
		for _, m := range list {
			m.Share = r.Operations[i].Share / r.pick.sum()
		}
		res.Operations = append(res.Operations, list...)
		whole = append(whole, to.whole)
	}
	if len(whole) > 1 {
		res.Operations = append(res.Operations, Merge("all", whole...))
	}
	return res
}

// Codes returns the errors, most frequent first.
func (m *Measured) Codes() []string {
	return slices.SortedStableFunc(slices.Values(slices.Sorted(maps.Keys(m.Errors))),
		func(a, b string) int { return m.Errors[b] - m.Errors[a] })
}
