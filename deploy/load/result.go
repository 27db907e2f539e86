package load

import (
	"fmt"
	"io"
	"maps"
	"math"
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

// mix returns the operations with their shares.
func (r *Result) mix() string {
	var list []string
	for _, m := range r.Operations {
		name := m.Operation
		if m.Share > 0 {
			name = fmt.Sprintf("%.3g%% %s", 100*m.Share, name)
		}
		list = append(list, name)
	}
	return strings.Join(list, ", ")
}

// planned returns the configured rate.
func (r *Result) planned() string {
	if len(r.Steps) > 0 {
		return "the highest within " + r.Bounds
	}
	return fmt.Sprintf("%g a second", r.Rate)
}

// WriteHTML writes r as a self-contained page.
func (r *Result) WriteHTML(w io.Writer) error {
	return report.Execute(w, struct {
		*Result
		Plots  []plot
		Colors [colors]int
	}{r, r.plots(), [colors]int{0, 1, 2, 3, 4, 5, 6, 7}})
}

func (r *Result) plots() []plot {
	list := []plot{r.byPercentile(), r.overTime()}
	if failed := r.errorsOverTime(); len(failed.Lines) > 0 {
		list = append(list, failed)
	}
	return list
}

func (r *Result) byPercentile() plot {
	var curves []curve
	maxCount := 1
	for i, m := range r.Operations {
		c := curve{name: m.Operation, color: i % colors}
		maxCount = max(maxCount, m.Latency.Count())
		for at := 0.; at <= math.Log10(float64(max(m.Latency.Count(), 1))); at += 0.05 {
			c.x, c.y = append(c.x, at), append(c.y, m.Latency.At(100*(1-math.Pow(10, -at))))
		}
		curves = append(curves, c)
	}
	to := max(math.Log10(float64(maxCount)), 1)
	var ticks []tick
	for _, percent := range []float64{0, 50, 90, 99, 99.9, 99.99, 99.999} {
		if at := nines(percent); at <= to {
			ticks = append(ticks, tick{at, fmt.Sprintf("%g%%", percent)})
		}
	}
	y, yTicks := logScale(curves)
	return newPlot("Latency by percentile", "share of requests with at most this latency", scale{0, to, left, right, false}, y, ticks,
		yTicks, curves)
}

func (r *Result) overTime() plot {
	var curves []curve
	for i, m := range r.Operations {
		for _, percent := range []float64{50, 99} {
			c := curve{name: fmt.Sprintf("%s p%g", m.Operation, percent), color: i % colors, thin: percent == 50}
			for _, s := range m.Slots {
				if s.Latency.Count() > 0 {
					c.x, c.y = append(c.x, s.At+s.Length/2), append(c.y, s.Latency.At(percent))
				}
			}
			curves = append(curves, c)
		}
	}
	x, xTicks := linear(max(r.Seconds, 0.1), left, right, " s")
	y, yTicks := logScale(curves)
	return newPlot("Latency over time", "p99, and thinner p50, by scheduled send time", x, y, xTicks, yTicks, curves)
}

func (r *Result) errorsOverTime() plot {
	var curves []curve
	maxShare := 0.
	for i, m := range r.Operations {
		c := curve{name: m.Operation, color: i % colors}
		for _, s := range m.Slots {
			share := 100 * float64(s.Errors) / float64(max(s.Count, 1))
			c.x, c.y = append(c.x, s.At+s.Length/2), append(c.y, share)
			maxShare = max(maxShare, share)
		}
		if m.Failed() > 0 {
			curves = append(curves, c)
		}
	}
	x, xTicks := linear(max(r.Seconds, 0.1), left, right, " s")
	y, yTicks := linear(max(maxShare, 1), base, above, "%")
	return newPlot("Errors over time", "by scheduled send time", x, y, xTicks, yTicks, curves)
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

func (m *Measured) add(slot int, took time.Duration, failure string) {
	s := m.Slots[slot]
	m.Count++
	s.Count++
	if failure != "" {
		m.Errors[failure]++
		s.Errors++
	}
	switch {
	case failure == "", failure == TimedOut, failure == NotSent:
		m.Latency.add(took)
		s.Latency.add(took)
	case refusal(failure):
		m.Refusals.add(took)
	}
}

// refusal reports whether an error is load shedding (HTTP 503).
func refusal(failure string) bool { return strings.HasPrefix(failure, "503") }

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

// Codes returns the errors, most frequent first.
func (m *Measured) Codes() []string {
	return slices.SortedStableFunc(slices.Values(slices.Sorted(maps.Keys(m.Errors))),
		func(a, b string) int { return m.Errors[b] - m.Errors[a] })
}
