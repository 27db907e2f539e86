package estate

import (
	"fmt"
	"hash/fnv"
	"math"
	"sort"
	"strconv"
	"strings"
)

// metricHelp tells a model what it may ask for.
const metricHelp = "want count, or one of sum avg min max distinct p50 p95 with a field, as in avg:price"

// A metric is a figure made of one field of the records; count has no field.
type metric struct {
	name  string
	op    string
	field string
	found bool // some record had the field
}

func parseMetrics(names []string) ([]*metric, error) {
	if len(names) == 0 {
		names = []string{"count"}
	}
	if len(names) > maxMetrics {
		return nil, fmt.Errorf("metrics: want at most %d", maxMetrics)
	}
	seen := map[string]bool{}
	var metrics []*metric
	for _, name := range names {
		m, err := parseMetric(name)
		if err != nil {
			return nil, err
		}
		if !seen[name] {
			metrics = append(metrics, m)
		}
		seen[name] = true
	}
	return metrics, nil
}

func parseMetric(name string) (*metric, error) {
	op, field, _ := strings.Cut(name, ":")
	switch op {
	case "count":
		if field == "" {
			return &metric{name: name, op: op, found: true}, nil
		}
	case "sum", "avg", "min", "max", "distinct", "p50", "p95":
		if field != "" && len(field) <= maxPathBytes {
			return &metric{name: name, op: op, field: field}, nil
		}
	}
	return nil, fmt.Errorf("metric %q: %s", string(shorten([]byte(name), maxPathBytes)), metricHelp)
}

// add counts the record into the total and the i-th tally of its group, if any.
func (m *metric) add(record value, total *tally, group *tallies, i int) {
	var v value
	if m.field != "" {
		var ok bool
		if v, ok = record.field(m.field); !ok {
			return
		}
		m.found = true
	}
	m.tally(total, v)
	if group != nil {
		m.tally(&group.of[i], v)
	}
}

func (m *metric) tally(t *tally, v value) {
	switch m.op {
	case "count":
		t.count++
	case "distinct":
		t.see(v)
	default:
		if f, ok := float(v); ok {
			t.number(f, m.op == "p50" || m.op == "p95")
		}
	}
}

// float is the number v as far as a float64 holds it.
func float(v value) (float64, bool) {
	if v.kind() != kindNumber {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v), 64)
	return f, err == nil
}

// tallies are the tallies of all metrics for one group.
type tallies struct{ of []tally }

func newTallies(metrics []*metric) *tallies { return &tallies{make([]tally, len(metrics))} }

func (t *tallies) merge(other *tallies) {
	for i := range t.of {
		t.of[i].merge(&other.of[i])
	}
}

func (t *tallies) values(metrics []*metric) []Number {
	values := make([]Number, len(metrics))
	for i, m := range metrics {
		values[i] = Number(t.of[i].value(m.op))
	}
	return values
}

// tally is what has been seen of one metric.
type tally struct {
	count        int
	sum, rest    float64 // rest is what rounding took from sum
	least, most  float64
	numbers      []float64
	distinctSeen map[string]struct{}
}

func (t *tally) number(f float64, keep bool) {
	if t.count == 0 {
		t.least, t.most = f, f
	}
	t.count++
	t.least, t.most = min(t.least, f), max(t.most, f)
	t.plus(f)
	if keep {
		t.numbers = append(t.numbers, f)
	}
}

// plus adds f by Neumaier's compensated sum, so that the order of the records
// and many small amounts beside large ones do not show.
func (t *tally) plus(f float64) {
	sum := t.sum + f
	if math.Abs(t.sum) >= math.Abs(f) {
		t.rest += t.sum - sum + f
	} else {
		t.rest += f - sum + t.sum
	}
	t.sum = sum
}

func (t *tally) see(v value) {
	if v.kind() == kindNull {
		return
	}
	key := string(rune('0'+v.kind())) + string(v.label())
	if t.distinctSeen == nil {
		t.distinctSeen = map[string]struct{}{}
	}
	t.distinctSeen[key] = struct{}{}
}

func (t *tally) merge(other *tally) {
	if t.count == 0 || other.count > 0 && other.least < t.least {
		t.least = other.least
	}
	if t.count == 0 || other.count > 0 && other.most > t.most {
		t.most = other.most
	}
	t.count += other.count
	t.plus(other.sum)
	t.rest += other.rest
	t.numbers = append(t.numbers, other.numbers...)
	for key := range other.distinctSeen {
		if t.distinctSeen == nil {
			t.distinctSeen = map[string]struct{}{}
		}
		t.distinctSeen[key] = struct{}{}
	}
}

func (t *tally) value(op string) float64 {
	switch {
	case op == "count":
		return float64(t.count)
	case op == "distinct":
		return float64(len(t.distinctSeen))
	case op == "sum":
		return tidy(t.sum + t.rest)
	case t.count == 0:
		return math.NaN()
	}
	switch op {
	case "avg":
		return tidy((t.sum + t.rest) / float64(t.count))
	case "min":
		return t.least
	case "max":
		return t.most
	case "p95":
		return t.percentile(0.95)
	default:
		return t.percentile(0.5)
	}
}

// percentile interpolates between the two nearest numbers, so p50 of an even
// count is the middle of its two.
func (t *tally) percentile(p float64) float64 {
	sort.Float64s(t.numbers)
	at := p * float64(len(t.numbers)-1)
	low := int(at)
	if low+1 == len(t.numbers) {
		return t.numbers[low]
	}
	part := at - float64(low)
	return tidy(t.numbers[low]*(1-part) + t.numbers[low+1]*part)
}

// tidy rounds a computed fraction to 15 digits: 0.1 and 0.2 add up to 0.3.
func tidy(f float64) float64 {
	if f == math.Trunc(f) {
		return f
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 15, 64), 64)
	if err != nil {
		return f
	}
	return rounded
}

func checksum(text string) string {
	h := fnv.New64a()
	h.Write([]byte(text))
	return fmt.Sprintf(" (%d bytes, %x)", len(text), h.Sum64())
}
