package estate_test

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cairn/services/internal/estate"
)

// This file is a naive reference implementation. It shares no code with the package.

func decode(t *testing.T, text []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// readReference returns the arrays by key. Of two paths with the same key the one with
// fewer names counts.
func readReference(t *testing.T, text []byte) map[string][]any {
	t.Helper()
	arrays, levels := map[string][]any{}, map[string]int{}
	var walk func(v any, key string, level int)
	walk = func(v any, key string, level int) {
		switch v := v.(type) {
		case []any:
			if old, ok := levels[key]; len(key) <= 512 && (!ok || level < old) {
				arrays[key], levels[key] = v, level
			}
		case map[string]any:
			for name, member := range v {
				if level > 0 {
					name = key + "." + name
				}
				walk(member, name, level+1)
			}
		}
	}
	top := decode(t, text)
	key := ""
	if _, bare := top.([]any); bare {
		key = "items"
	}
	walk(top, key, 0)
	return arrays
}

// referenceRecords returns the records of an array, also of one inside of records; ok is false if this file
// cannot tell.
func referenceRecords(e *estate.Estate, key string, top map[string][]any) (records []any, ok bool) {
	parent, field, derived, plain := e.Derivation(key)
	switch {
	case !derived:
		records, ok = top[key]
		return records, ok
	case !plain:
		return nil, false
	}
	parents, ok := referenceRecords(e, parent, top)
	for _, r := range parents {
		v, _ := fieldOf(r, field)
		elements, _ := v.([]any)
		records = append(records, elements...)
	}
	return records, ok
}

// fieldOf returns the field of a record at a dotted path; longer names take precedence.
func fieldOf(record any, path string) (any, bool) {
	switch record.(type) {
	case map[string]any:
		return inValue(record, path)
	default:
		if path == "value" {
			return record, true
		}
		rest, ok := strings.CutPrefix(path, "value.")
		if !ok {
			return nil, false
		}
		return inValue(record, rest)
	}
}

// inValue returns the value at a path in an object or a list.
func inValue(v any, path string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		return inObject(v, path)
	case []any:
		return inList(v, path)
	default:
		return nil, false
	}
}

// inList returns the element at the position that begins the path, or the value of a key/value list.
func inList(list []any, path string) (v any, ok bool) {
	first, rest, deeper := strings.Cut(path, ".")
	if n, err := strconv.ParseUint(first, 10, 32); err == nil && n < uint64(len(list)) {
		if deeper {
			return inValue(list[n], rest)
		}
		return list[n], true
	}
	for _, element := range list {
		for _, names := range [][2]string{{"Key", "Value"}, {"key", "value"}, {"name", "value"}, {"Name", "Value"}} {
			object, _ := element.(map[string]any)
			value, exists := object[names[1]]
			if key, isText := object[names[0]].(string); isText && exists {
				if key == path {
					v, ok = value, true
				}
				break
			}
		}
	}
	return v, ok
}

func inObject(object map[string]any, path string) (any, bool) {
	if v, ok := object[path]; ok {
		return v, true
	}
	for dot := strings.LastIndexByte(path, '.'); dot >= 0; dot = strings.LastIndexByte(path[:dot], '.') {
		if v, ok := inValue(object[path[:dot]], path[dot+1:]); ok {
			return v, true
		}
	}
	return nil, false
}

// referenceGroups counts records by label; ok is false if this file cannot format a number.
func referenceGroups(records []any, path string) (groups map[string]float64, ok bool) {
	groups = map[string]float64{}
	for _, r := range records {
		v, exists := fieldOf(r, path)
		if !exists {
			v = nil
		}
		values := []any{v}
		if list, ok := v.([]any); ok && isScalars(list) {
			values = slices.DeleteFunc(slices.Clone(list), func(v any) bool { return v == nil })
			if len(values) == 0 {
				values = []any{nil}
			}
		}
		labels := map[string]bool{}
		for _, v := range values {
			label, ok := referenceLabel(v)
			if !ok {
				return nil, false
			}
			labels[label] = true
		}
		for label := range labels {
			groups[label]++
		}
	}
	return groups, true
}

func isScalars(list []any) bool {
	for _, v := range list {
		switch v.(type) {
		case []any, map[string]any:
			return false
		}
	}
	return true
}

func referenceLabel(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "null", true
	case string:
		return v, len(v) < 4096
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		return referenceNumber(v)
	default:
		return referenceJSON(v)
	}
}

func referenceNumber(n json.Number) (string, bool) {
	f, err := n.Float64()
	size := math.Abs(f)
	if err != nil || len(n) > 15 || f != 0 && size < 1e-5 || size > 1e15 {
		return "", false
	}
	if f == 0 {
		return "0", strings.Trim(string(n), "-0.eE+123456789") == "" && !strings.ContainsAny(mantissa(n), "123456789")
	}
	return strconv.FormatFloat(f, 'f', -1, 64), true
}

func mantissa(n json.Number) string {
	before, _, _ := strings.Cut(strings.ToLower(string(n)), "e")
	return before
}

// referenceJSON returns compact JSON with sorted names and normalized numbers.
func referenceJSON(v any) (string, bool) {
	spelled, ok := spellNumbers(v, 0)
	if !ok {
		return "", false
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(spelled); err != nil {
		return "", false
	}
	label := strings.TrimSpace(out.String())
	return label, len(label) < 4096
}

func spellNumbers(v any, depth int) (any, bool) {
	if depth > 30 {
		return nil, false
	}
	switch v := v.(type) {
	case json.Number:
		label, ok := referenceNumber(v)
		return json.Number(label), ok
	case []any:
		for i := range v {
			inner, ok := spellNumbers(v[i], depth+1)
			if !ok {
				return nil, false
			}
			v[i] = inner
		}
	case map[string]any:
		for name := range v {
			inner, ok := spellNumbers(v[name], depth+1)
			if !ok {
				return nil, false
			}
			v[name] = inner
		}
	}
	return v, true
}
