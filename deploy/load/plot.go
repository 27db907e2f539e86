package load

import (
	"fmt"
	"math"
	"strings"
)

// plot is a line chart in SVG.
type plot struct {
	Title  string
	XName  string
	XTicks []tick
	YTicks []tick
	Lines  []line
}

// tick is a mark on an axis.
type tick struct {
	At   float64
	Text string
}

// line is the curve of one operation.
type line struct {
	Name   string
	Color  int
	Thin   bool
	Points string
}

// Plot area on the 720 × 300 canvas.
const (
	left, right = 64., 704.
	above, base = 16., 260.
)

// curve is a line in data units.
type curve struct {
	name  string
	color int
	thin  bool
	x, y  []float64
}

// scale maps values to the canvas.
type scale struct {
	from, to   float64 // values
	start, end float64 // coordinates
	log        bool
}

func (s scale) at(v float64) float64 {
	from, to := s.from, s.to
	if s.log {
		v, from, to = math.Log10(max(v, s.from)), math.Log10(from), math.Log10(to)
	}
	return s.start + (v-from)/(to-from)*(s.end-s.start)
}

// newPlot draws the curves.
func newPlot(title, xName string, x, y scale, xTicks, yTicks []tick, curves []curve) plot {
	p := plot{Title: title, XName: xName}
	for _, t := range xTicks {
		p.XTicks = append(p.XTicks, tick{x.at(t.At), t.Text})
	}
	for _, t := range yTicks {
		p.YTicks = append(p.YTicks, tick{y.at(t.At), t.Text})
	}
	for _, c := range curves {
		var points strings.Builder
		for i := range c.x {
			_, _ = fmt.Fprintf(&points, "%.1f,%.1f ", x.at(c.x[i]), y.at(c.y[i])) // a strings.Builder never fails
		}
		p.Lines = append(p.Lines, line{c.name, c.color, c.thin, strings.TrimSpace(points.String())})
	}
	return p
}

// logScale returns a logarithmic scale around the curves' values, with ticks.
func logScale(curves []curve) (scale, []tick) {
	lowest, highest := math.Inf(1), 0.
	for _, c := range curves {
		for _, v := range c.y {
			if v > 0 {
				lowest, highest = min(lowest, v), max(highest, v)
			}
		}
	}
	if highest == 0 {
		lowest, highest = 1, 10
	}
	from, to := math.Floor(math.Log10(lowest)), math.Ceil(math.Log10(highest))
	if to == from {
		to++
	}
	var ticks []tick
	for d := from; d <= to; d++ {
		ticks = append(ticks, tick{math.Pow(10, d), fmt.Sprintf("%g ms", math.Pow(10, d))})
	}
	return scale{math.Pow(10, from), math.Pow(10, to), base, above, true}, ticks
}

// linear returns a scale from 0 to maximum, with ticks.
func linear(maximum, start, end float64, unit string) (scale, []tick) {
	step := math.Pow(10, math.Floor(math.Log10(maximum)))
	for maximum/step < 4 {
		step /= 2
	}
	var ticks []tick
	for v := 0.; v <= maximum*1.0001; v += step {
		ticks = append(ticks, tick{v, fmt.Sprintf("%.4g%s", v, unit)})
	}
	return scale{0, maximum, start, end, false}, ticks
}
