package peers_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// maker generates random estates and calls with few distinct names and values. It uses
// only values that SQLite and Cairn treat alike: 64-bit integers, fractions of few
// digits, no duplicate names, and canonical values inside arrays and objects.
type maker struct{ *rand.Rand }

var (
	someNumbers = []string{"0", "-0", "0.0", "1", "1.0", "10e-1", "2", "0.5", "5E-1", "0.1", "0.2", "0.30", "-7.25", "120", "1.2e2",
		"1E+3", "1000"}
	bigNumbers = []string{"9007199254740993", "9007199254740992", "-9007199254740993", "9223372036854775807", "9223372036854775806",
		"-9223372036854775808"}
	someTexts = []string{`"x"`, `"y"`, `"x y"`, `"X"`, `"null"`, `"1"`, `"0.5"`, `"true"`, `""`, `"[1]"`, `"caf\u00e9"`, `"café"`,
		`"\ud83d\ude00"`, `"😀"`, `"a\"b\\c\/d"`, `"l1\nl2"`, `"it's"`, `"2024-01-31"`, `"2024-02-01"`}
	plainValues = []string{"1", "2.5", "-3", "true", "false", "null", `"x"`, `"y"`, `"1"`, `"café"`, `"it's"`, `""`}
	someFields  = []string{"s", "n", "m", "b", "big", "list", "o", "o.x", "o.y", "o.y.z", "u", "value", "no", "no.such", "s.x"}
)

func (m maker) of(list []string) string { return list[m.IntN(len(list))] }

func (m maker) space() string { return m.of([]string{"", "", "", " ", "\n\t"}) }

func (m maker) estate() string {
	if m.IntN(5) == 0 {
		return m.space() + m.array() + m.space()
	}
	inner := m.object([]string{`"b"`, m.array(), `"k"`, m.of(someTexts), `"c"`, m.object([]string{`"d"`, m.array(), `"e"`, "[]"})})
	return m.object([]string{`"name"`, `"x"`, `"a"`, m.array(), `"in"`, inner, `"n"`, m.of(someNumbers)})
}

// object writes alternating names and values as members in random order.
func (m maker) object(parts []string) string {
	var members []string
	for i := 0; i < len(parts); i += 2 {
		members = append(members, m.space()+parts[i]+m.space()+":"+m.space()+parts[i+1]+m.space())
	}
	m.Shuffle(len(members), func(i, k int) { members[i], members[k] = members[k], members[i] })
	return "{" + strings.Join(members, ",") + "}"
}

func (m maker) array() string {
	var elements []string
	dotted := m.IntN(3) == 0
	for range m.IntN(30) {
		elements = append(elements, m.space()+m.record(dotted)+m.space())
	}
	return "[" + strings.Join(elements, ",") + "]"
}

func (m maker) record(dotted bool) string {
	if m.IntN(12) == 0 {
		return m.mixed()
	}
	var parts []string
	add := func(name, value string) {
		switch m.IntN(10) {
		case 0:
		case 1:
			parts = append(parts, name, "null")
		default:
			parts = append(parts, name, value)
		}
	}
	add(m.of([]string{`"s"`, `"\u0073"`}), m.of(someTexts))
	add(`"n"`, m.number())
	add(`"m"`, m.mixed())
	add(`"b"`, m.of([]string{"true", "false"}))
	add(`"big"`, m.of(bigNumbers))
	add(`"list"`, m.list())
	add(`"o"`, m.plainObject())
	add(`"u"`, fmt.Sprint(m.IntN(1000)))
	if m.IntN(4) == 0 {
		add(`"value"`, m.mixed())
	}
	if dotted {
		add(`"o.x"`, m.of(plainValues))
		add(`"o.y"`, m.of([]string{`{"z":1}`, `{"z":"x"}`, "5"}))
		add(`"o.y.z"`, m.of(plainValues))
	}
	return m.object(parts)
}

func (m maker) number() string {
	if m.IntN(2) == 0 {
		return m.of(someNumbers)
	}
	return fmt.Sprintf("%d.%02d", m.IntN(100)-50, m.IntN(100))
}

func (m maker) mixed() string {
	switch m.IntN(8) {
	case 0:
		return m.of([]string{"true", "false", "null"})
	case 1:
		return m.list()
	case 2:
		return m.plainObject()
	case 3, 4:
		return m.number()
	case 5:
		return m.of(bigNumbers)
	default:
		return m.of(someTexts)
	}
}

func (m maker) list() string {
	var elements []string
	for range m.IntN(4) {
		elements = append(elements, m.space()+m.of(plainValues)+m.space())
	}
	return "[" + strings.Join(elements, ",") + "]"
}

// plainObject has sorted names, like group labels.
func (m maker) plainObject() string {
	var members []string
	for _, name := range []string{"x", "y"} {
		if value := m.of(plainValues); m.IntN(3) > 0 {
			members = append(members, fmt.Sprintf(`%s"%s":%s%s`, m.space(), name, m.space(), value))
		}
	}
	if m.IntN(2) == 0 && len(members) == 2 {
		members[1] = fmt.Sprintf(`"y":{"z":%s}`, m.of(plainValues))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (m maker) call(key string) call {
	c := call{key: key, groupBy: m.of(append(someFields, "", "s", "n", "m")), metrics: []string{m.metric()}}
	for _, field := range someFields {
		if m.IntN(12) == 0 {
			c.filter = append(c.filter, m.condition(field))
		}
	}
	seen := map[string]bool{c.metrics[0]: true}
	for range m.IntN(4) {
		if name := m.metric(); !seen[name] {
			c.metrics = append(c.metrics, name)
			seen[name] = true
		}
	}
	return c
}

func (m maker) metric() string {
	op := m.of([]string{"count", "sum", "avg", "min", "max", "distinct", "p50", "p95"})
	switch op {
	case "count":
		return op
	case "distinct", "min", "max":
		return op + ":" + m.of(someFields)
	default: // sums of large numbers depend on the order
		return op + ":" + m.of([]string{"n", "n", "n", "u", "o.x", "o.y", "o.y.z", "s", "no"})
	}
}

func (m maker) condition(field string) condition {
	a := condition{field: field, op: m.of([]string{"", "", "ne", "gt", "gte", "lt", "lte", "in", "contains", "exists"})}
	switch a.op {
	case "exists":
		a.value = m.of([]string{"true", "false"})
	case "gt", "gte", "lt", "lte":
		a.value = m.of([]string{m.number(), m.of(bigNumbers), m.of(someTexts)})
	case "in":
		var values []string
		for range m.IntN(5) {
			values = append(values, m.mixed())
		}
		a.value = "[" + strings.Join(values, ", ") + "]"
	case "contains":
		a.value = m.of([]string{m.of(plainValues), m.of(someTexts)})
	default:
		if a.value = strings.TrimSpace(m.mixed()); a.op == "" && a.value[0] == '{' {
			a.value = "1"
		}
	}
	return a
}
