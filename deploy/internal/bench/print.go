package bench

import (
	"fmt"
	"io"
	"strings"

	"cairn/deploy/internal/output"
	"cairn/deploy/load"
)

// printLoad writes r as text.
func printLoad(out io.Writer, r *load.Result) {
	t := output.NewTable(out)
	t.Row(summaryOf(r))
	t.Row(environmentOf(r.Environment))
	t.Row("")
	t.Row("operation", "count", "rate/s", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "max ms", "rejected", "errors")
	for _, m := range r.Operations {
		l := m.Latency
		t.Row(m.Operation, fmt.Sprint(m.Count), fmt.Sprintf("%.1f", m.Rate()),
			short3(l.At(50)), short3(l.At(90)), short3(l.At(99)), short3(l.At(99.9)), short3(l.Max()),
			fmt.Sprint(m.Refused()), errorsOf(m))
	}
	t.Row("")
	for _, note := range r.Notes {
		t.Row(note)
	}
	t.Write()
}

// summaryOf returns the load of r on one line.
func summaryOf(r *load.Result) string {
	text := fmt.Sprintf("%s: %.4g requests per second for %.1f s, at most %d connections", r.Name, r.Rate, r.Seconds,
		r.Connections)
	if r.Interrupted {
		text += "; interrupted"
	}
	return text
}

// environmentOf returns the environment of the measurement on one line.
func environmentOf(e load.Environment) string {
	text := strings.Join(append([]string{"Cairn " + e.Version + " at " + e.URL}, output.Pairs(e.Backends)...), ", ")
	text += fmt.Sprintf("; client on %s, %d CPUs", e.System, e.CPUs)
	if e.Load != nil {
		text += fmt.Sprintf(", load average %.2f before the run", *e.Load)
	}
	return text
}

// errorsOf returns the errors of m by code, most frequent first.
func errorsOf(m *load.Measured) string {
	var list []string
	for _, code := range m.Codes() {
		list = append(list, fmt.Sprintf("%s: %d", code, m.Errors[code]))
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// short3 formats v with three significant digits.
func short3(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
