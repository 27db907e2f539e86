package estate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// metricHelp describes metrics to a model.
const metricHelp = "expected count, or one of sum avg min max distinct p50 p95 with a field, as in avg:price"

// A metric is an aggregate of one field of the records; count has no field.
type metric struct {
	name    string
	op      string
	field   string
	present bool // a record had the field
}

func parseMetrics(names []string) ([]*metric, error) {
	if len(names) == 0 {
		names = []string{"count"}
	}
	if len(names) > maxMetrics {
		return nil, fmt.Errorf("metrics: expected at most %d", maxMetrics)
	}
	var metrics []*metric
	for _, name := range names {
		m, err := parseMetric(name)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(metrics, func(o *metric) bool { return o.name == name }) {
			metrics = append(metrics, m)
		}
	}
	return metrics, nil
}

func parseMetric(name string) (*metric, error) {
	op, field, _ := strings.Cut(name, ":")
	switch op {
	case "count":
		if field == "" {
			return &metric{name: name, op: op, present: true}, nil
		}
	case "sum", "avg", "min", "max", "distinct", "p50", "p95":
		if field != "" && len(field) <= maxPathBytes {
			return &metric{name: name, op: op, field: field}, nil
		}
	}
	return nil, fmt.Errorf("metric %q: %s", string(truncate([]byte(name), maxPathBytes)), metricHelp)
}

// countMetric is the metric of groups and total when the first one is a text.
var countMetric = &metric{name: "count", op: "count", present: true}

// A measure is a metric with the values of its field.
type measure struct {
	*metric
	unit    string
	codes   []uint32           // of the records
	numbers []float64          // of the values; NaN for those that have none
	texts   map[float64]string // min and max of dates and texts, by number
	classes labels             // of distinct
}

// textsOf returns the text of each number.
func textsOf(col *column, numbers []float64) map[float64]string {
	texts := make(map[float64]string, len(numbers))
	for i, f := range numbers {
		if _, ok := texts[f]; !ok && f == f {
			texts[f] = col.values[i].text
		}
	}
	return texts
}

// cell returns a figure of the measure.
func (v measure) cell(figure float64) Cell {
	if v.texts != nil && figure == figure {
		return Cell{Text: v.texts[figure], IsText: true}
	}
	return Cell{Value: Number(figure)}
}

// tallySize is the size of a tally, in bytes.
const tallySize = 48

// chooseClasses returns the classes of the values of rows, and their groups if rows are grouped.
func (v *measure) chooseClasses(rows, groupOf []uint32) (chosen, groups []uint32) {
	chosen = make([]uint32, 0, len(rows))
	if groupOf != nil {
		groups = make([]uint32, 0, len(rows))
	}
	for i, row := range rows {
		code := v.codes[row]
		if v.classes.elements != nil {
			for _, class := range v.classes.groups(code) {
				if !v.classes.isEmpty(code) {
					chosen = append(chosen, class)
					groups = appendGroup(groups, groupOf, i)
				}
			}
		} else if code >= codeValues {
			chosen = append(chosen, v.classes.group[code])
			groups = appendGroup(groups, groupOf, i)
		}
	}
	return chosen, groups
}

// appendGroup appends the i-th group, if there are groups.
func appendGroup(groups, groupOf []uint32, i int) []uint32 {
	if groupOf == nil {
		return nil
	}
	return append(groups, groupOf[i])
}

// chooseNumbers returns the numbers of rows, and their groups if rows are grouped.
func (v *measure) chooseNumbers(rows, groupOf []uint32) (numbers []float64, groups []uint32) {
	numbers = make([]float64, 0, len(rows))
	if groupOf != nil {
		groups = make([]uint32, 0, len(rows))
	}
	for i, row := range rows {
		code := v.codes[row]
		if code < codeValues || v.numbers[code-codeValues] != v.numbers[code-codeValues] {
			continue
		}
		numbers = append(numbers, v.numbers[code-codeValues])
		groups = appendGroup(groups, groupOf, i)
	}
	return numbers, groups
}

// split partitions values by group; without groups all are in the first.
func split[T any](values []T, groups []uint32, n int) [][]T {
	if groups == nil {
		return [][]T{values}
	}
	sizes := make([]uint32, n)
	for _, g := range groups {
		sizes[g]++
	}
	buffer := make([]T, len(values))
	parts := make([][]T, n)
	for g, size := range sizes {
		parts[g], buffer = buffer[:0:size], buffer[size:]
	}
	for i, g := range groups {
		parts[g] = append(parts[g], values[i])
	}
	return parts
}

// distinct counts the different classes in each of n groups; classes are below many.
func distinct(classes, groups []uint32, n, many int) []float64 {
	if n == 0 {
		return nil
	}
	counts := make([]float64, n)
	seen := make([]uint32, many) // 1 + the last group with the class
	for g, part := range split(classes, groups, n) {
		for _, class := range part {
			if seen[class] != uint32(g)+1 {
				seen[class] = uint32(g) + 1
				counts[g]++
			}
		}
	}
	return counts
}

// reduce aggregates the numbers of each of n groups; NaN if there are none. It may reorder numbers.
func (m *metric) reduce(ctx context.Context, numbers []float64, groups []uint32, n int) []float64 {
	if n == 0 {
		return nil
	}
	out := make([]float64, n)
	if m.op == "p50" || m.op == "p95" {
		p := map[string]float64{"p50": 0.5, "p95": 0.95}[m.op]
		for g, part := range split(numbers, groups, n) {
			if g%checkRows == 0 && ctx.Err() != nil {
				break
			}
			out[g] = percentile(part, p)
		}
		return out
	}
	tallies := make([]tally, n)
	for i, f := range numbers {
		g := uint32(0)
		if groups != nil {
			g = groups[i]
		}
		tallies[g].add(f)
	}
	for g := range tallies {
		if g%checkRows == 0 && ctx.Err() != nil {
			break
		}
		out[g] = tallies[g].value(m.op)
	}
	return out
}

// tally accumulates numbers.
type tally struct {
	count     int
	sum, rest float64 // rest is the rounding error of sum
	min, max  float64
}

// add uses Neumaier's compensated summation: the sum does not depend on the order of
// records, and small values are not lost to rounding.
func (t *tally) add(f float64) {
	if t.count == 0 {
		t.min, t.max = f, f
	}
	t.count++
	t.min, t.max = min(t.min, f), max(t.max, f)
	sum := t.sum + f
	if math.Abs(t.sum) >= math.Abs(f) {
		t.rest += t.sum - sum + f
	} else {
		t.rest += f - sum + t.sum
	}
	t.sum = sum
}

func (t *tally) value(op string) float64 {
	switch {
	case op == "sum":
		return roundDigits(t.sum + t.rest)
	case t.count == 0:
		return math.NaN()
	case op == "avg":
		return roundDigits((t.sum + t.rest) / float64(t.count))
	case op == "min":
		return t.min
	default:
		return t.max
	}
}

// percentile interpolates between the two nearest numbers, so p50 of an even count is the
// mean of the middle two. It reorders numbers.
func percentile(numbers []float64, p float64) float64 {
	if len(numbers) == 0 {
		return math.NaN()
	}
	position := p * float64(len(numbers)-1)
	low := int(position)
	lower := nth(numbers, low)
	if low+1 == len(numbers) {
		return lower
	}
	part := position - float64(low)
	return roundDigits(lower*(1-part) + slices.Min(numbers[low+1:])*part)
}

// nth returns the k-th smallest number and partitions numbers around it. Pivots are
// random, so that no order of numbers is slow.
func nth(numbers []float64, k int) float64 {
	low, high := 0, len(numbers)-1
	for low < high {
		pivot := numbers[low+rand.IntN(high-low+1)] // #nosec G404 -- not a secret
		i, j := low, high
		for i <= j {
			for numbers[i] < pivot {
				i++
			}
			for numbers[j] > pivot {
				j--
			}
			if i <= j {
				numbers[i], numbers[j] = numbers[j], numbers[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			high = j
		case k >= i:
			low = i
		default:
			return numbers[k]
		}
	}
	return numbers[k]
}

// roundDigits rounds a computed fraction to 15 digits, so that 0.1 + 0.2 is 0.3.
func roundDigits(f float64) float64 {
	if f == math.Trunc(f) {
		return f
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 15, 64), 64)
	if err != nil {
		return f
	}
	return rounded
}
