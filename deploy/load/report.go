package load

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
)

//go:embed report.html
var reportText string

var report = template.Must(template.New("report").Funcs(template.FuncMap{
	"ms":      func(v float64) string { return fmt.Sprintf("%.3g", v) },
	"number":  func(v float64) string { return fmt.Sprintf("%.4g", v) },
	"percent": func(v float64) string { return fmt.Sprintf("%.3g%%", 100*v) },
}).Parse(reportText))

// colors is the number of distinct line colors.
const colors = 8

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

// nines maps a percentile to an axis on which each nine has equal width.
func nines(percent float64) float64 { return -math.Log10(1 - percent/100) }

func (r *Result) byPercentile() plot {
	var curves []curve
	most := 1
	for i, m := range r.Operations {
		c := curve{name: m.Operation, color: i % colors}
		most = max(most, m.Latency.Count())
		for at := 0.; at <= math.Log10(float64(max(m.Latency.Count(), 1))); at += 0.05 {
			c.x, c.y = append(c.x, at), append(c.y, m.Latency.At(100*(1-math.Pow(10, -at))))
		}
		curves = append(curves, c)
	}
	to := max(math.Log10(float64(most)), 1)
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
	most := 0.
	for i, m := range r.Operations {
		c := curve{name: m.Operation, color: i % colors}
		for _, s := range m.Slots {
			share := 100 * float64(s.Errors) / float64(max(s.Count, 1))
			c.x, c.y = append(c.x, s.At+s.Length/2), append(c.y, share)
			most = max(most, share)
		}
		if m.Failed() > 0 {
			curves = append(curves, c)
		}
	}
	x, xTicks := linear(max(r.Seconds, 0.1), left, right, " s")
	y, yTicks := linear(max(most, 1), base, above, "%")
	return newPlot("Errors over time", "by scheduled send time", x, y, xTicks, yTicks, curves)
}
