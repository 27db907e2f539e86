package estate_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"
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
	found, levels := map[string][]any{}, map[string]int{}
	var walk func(v any, key string, level int)
	walk = func(v any, key string, level int) {
		switch v := v.(type) {
		case []any:
			if old, ok := levels[key]; len(key) <= 512 && (!ok || level < old) {
				found[key], levels[key] = v, level
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
	return found
}

// fieldOf returns the field of a record at a dotted path; longer names take precedence.
func fieldOf(record any, path string) (any, bool) {
	object, ok := record.(map[string]any)
	if !ok {
		return record, path == "value"
	}
	return inObject(object, path)
}

func inObject(object map[string]any, path string) (any, bool) {
	if v, ok := object[path]; ok {
		return v, true
	}
	for dot := strings.LastIndexByte(path, '.'); dot >= 0; dot = strings.LastIndexByte(path[:dot], '.') {
		if inner, ok := object[path[:dot]].(map[string]any); ok {
			if v, ok := inObject(inner, path[dot+1:]); ok {
				return v, true
			}
		}
	}
	return nil, false
}

// referenceGroups counts records by label; ok is false if this file cannot format a number.
func referenceGroups(records []any, path string) (groups map[string]float64, ok bool) {
	groups = map[string]float64{}
	for _, r := range records {
		v, found := fieldOf(r, path)
		if !found {
			v = nil
		}
		label, ok := referenceLabel(v)
		if !ok {
			return nil, false
		}
		groups[label]++
	}
	return groups, true
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
