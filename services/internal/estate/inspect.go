package estate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
)

// Schema describes a data array to the model by metadata and one sample record.
type Schema struct {
	Fields []string        `json:"fields"` // dotted paths; if there are more, the last entry contains their number
	Count  int             `json:"count"`
	Sample json.RawMessage `json:"sample"` // an object: the first record, abbreviated
}

// Bounds on a Schema, to fit the context of a small model.
const (
	maxSchemaFields = 200
	maxSchemaBytes  = 8 << 10 // of field names
	maxSampleBytes  = 2 << 10
)

// Bounds on the parts of a sample.
const (
	maxSampleString   = 160 // bytes
	maxSampleElements = 3
	maxSampleDepth    = 4
)

// sampler copies a value and replaces long parts by a mark. It starts no member or
// element after left bytes.
type sampler struct {
	ctx  context.Context // bounds the reading of large objects
	out  json.RawMessage
	left int
}

func (s *sampler) full() bool { return len(s.out) > s.left }

func (s *sampler) add(v value, depth int) {
	switch k := v.kind(); {
	case k == kindString:
		s.out = append(s.out, quote(truncate(v.content(), maxSampleString))...)
	case k == kindNumber && len(v) > maxSampleString:
		s.out = append(s.out, quote(truncate(v, maxSampleString))...)
	case k == kindObject && depth < maxSampleDepth:
		s.addObject(v, depth)
	case k == kindArray && depth < maxSampleDepth:
		s.addArray(v, depth)
	case k == kindObject || k == kindArray:
		s.out = append(s.out, `"…"`...)
	default:
		s.out = append(s.out, v...)
	}
}

func (s *sampler) addObject(v value, depth int) {
	s.out = append(s.out, '{')
	written, left := 0, 0
	for name, member := range v.lastMembers(s.ctx) {
		if left > 0 || s.full() {
			left++
			continue
		}
		if written > 0 {
			s.out = append(s.out, ',')
		}
		s.out = append(append(s.out, quote(truncate(name, maxSampleString))...), ':')
		s.add(member, depth+1)
		written++
	}
	if left > 0 {
		if written > 0 {
			s.out = append(s.out, ',')
		}
		s.out = append(s.out, fmt.Sprintf(`"…":"%d more fields"`, left)...)
	}
	s.out = append(s.out, '}')
}

func (s *sampler) addArray(v value, depth int) {
	s.out = append(s.out, '[')
	count, written := 0, 0
	for element := range v.elements() {
		count++
		if count > maxSampleElements || s.full() {
			continue
		}
		if written > 0 {
			s.out = append(s.out, ',')
		}
		s.add(element, depth+1)
		written++
	}
	if written < count {
		if written > 0 {
			s.out = append(s.out, ',')
		}
		s.out = append(s.out, fmt.Sprintf(`"… %d more"`, count-written)...)
	}
	s.out = append(s.out, ']')
}

// truncate truncates text to n bytes at a rune boundary and appends an ellipsis.
func truncate(text []byte, n int) []byte {
	if len(text) <= n {
		return text
	}
	return append(bytes.ToValidUTF8(text[:n], nil), "…"...)
}
