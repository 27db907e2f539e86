package load

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"
)

// Format is the version of Result as JSON. A reader of another one refuses it.
const Format = 1

// Result is how a service bore a load.
type Result struct {
	Format      int         `json:"format"`
	Name        string      `json:"name"` // of what was asked; the caller's to say
	Began       time.Time   `json:"began"`
	Rate        float64     `json:"rate"` // requests a second, as planned
	Seconds     float64     `json:"seconds"`
	Warm        float64     `json:"warm_seconds"`
	Connections int         `json:"connections"`
	Records     int         `json:"records,omitzero"` // among which it was asked; the caller's to say
	Interrupted bool        `json:"interrupted,omitzero"`
	Late        float64     `json:"late"`             // share of the requests that were sent late, since no connection was free
	Slipped     float64     `json:"slipped,omitzero"` // share that was sent late for no such reason: who sends was late
	Environment Environment `json:"environment"`      // the caller's to say
	Operations  []*Measured `json:"operations"`       // where there are several, all of them together come last
	Bounds      string      `json:"bounds,omitempty"` // within which the rate was found
	Steps       []Step      `json:"steps,omitempty"`  // by which the rate was found
	Notes       []string    `json:"notes,omitempty"`  // the caller's to say
}

// Measured is how requests of an operation went.
type Measured struct {
	Operation string         `json:"operation"`
	Share     float64        `json:"share,omitzero"` // of all requests, as planned. An earlier file has none
	Count     int            `json:"count"`
	Seconds   float64        `json:"seconds"`
	Errors    map[string]int `json:"errors,omitempty"`
	// Latency is of those that were answered as they should be, and of those
	// that got no answer in time.
	Latency *Latency `json:"latency"`
	// Refusals is the latency of those that were refused. An earlier file has none.
	Refusals *Latency `json:"refusals,omitzero"`
	// Slots are parts of the time, in their order, by when a request was due.
	Slots []*Slot `json:"slots"`
}

// Slot is how requests went that were due in a part of the time.
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

// refusal reports whether an error says that the service was full (HTTP 503).
func refusal(wrong string) bool { return strings.HasPrefix(wrong, "503") }

// Failed is how many requests were not answered as they should be.
func (m *Measured) Failed() (n int) {
	for _, of := range m.Errors {
		n += of
	}
	return n
}

// FailedShare is the share of the requests that were not answered as they
// should be; 0 when there was none.
func (m *Measured) FailedShare() float64 { return float64(m.Failed()) / float64(max(m.Count, 1)) }

// Refused is how many were refused.
func (m *Measured) Refused() (n int) {
	for code, of := range m.Errors {
		if refusal(code) {
			n += of
		}
	}
	return n
}

// Rate is how many were answered a second, as they should be.
func (m *Measured) Rate() float64 {
	if m.Seconds == 0 {
		return 0
	}
	return float64(m.Count-m.Failed()) / m.Seconds
}

// Merge is the measurements of the same time together, such as of several
// operations, under a name.
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

// result is what the run has measured.
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

// Codes are the errors, those that came most first.
func (m *Measured) Codes() []string {
	return slices.SortedStableFunc(slices.Values(slices.Sorted(maps.Keys(m.Errors))), func(a, b string) int { return m.Errors[b] - m.Errors[a] })
}
