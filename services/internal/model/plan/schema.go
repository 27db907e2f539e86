package plan

import (
	"bytes"
	"encoding/json"
)

// Bounds on a schema. OpenAI's strict mode allows 1,000 values of enums, and llama.cpp expands long ones slowly.
const (
	maxOffered       = 8   // arrays
	maxOfferedFields = 60  // of an array
	maxEnum          = 900 // values of all enums
)

// Restriction narrows the schema of a second attempt, so that it must use what the first one omitted.
type Restriction struct {
	DataKey string   // the array; empty: any
	Filter  []string // fields of which a condition has one; nil: any
	Groups  []string // fields to group by; nil: any
	Metrics []string // nil: any
}

// object is a JSON object whose members keep their order, in which a model decides.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, m := range o {
		b.WriteByte("{,"[min(i, 1)])
		b.Write(JSON(m.name))
		b.WriteByte(':')
		b.Write(JSON(m.value))
	}
	if len(o) == 0 {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// NewSchema returns the JSON Schema of a plan over the arrays. It satisfies OpenAI's strict mode: the root is an
// object, every property is required, and the alternatives of an anyOf begin with different members or constants.
func NewSchema(q *Question, arrays []*Array, r Restriction) json.RawMessage {
	var steps []any
	left := maxEnum
	for _, a := range arrays[:min(maxOffered, len(arrays))] {
		if r.DataKey != "" && a.Key != r.DataKey {
			continue
		}
		step, size := stepSchema(q, a, r, left/max(1, min(maxOffered, len(arrays))-len(steps)))
		left -= size
		steps = append(steps, step)
	}
	if r.DataKey == "" && r.Filter == nil && r.Metrics == nil && r.Groups == nil {
		steps = append(steps, strict(object{{"not_in_data", text(maxConditionsText)}}),
			strict(object{{"overview", object{{"type", "boolean"}, {"const", true}}}}),
			strict(object{{"conversation", text(maxConditionsText)}}))
	}
	return JSON(strict(object{{"calls", object{
		{"type", "array"}, {"minItems", 1}, {"maxItems", maxCalls}, {"items", object{{"anyOf", steps}}},
	}}}))
}

// strict returns the schema of an object with exactly these members.
func strict(properties object) object {
	required := make([]string, len(properties))
	for i, p := range properties {
		required[i] = p.name
	}
	return object{{"type", "object"}, {"properties", properties}, {"required", required}, {"additionalProperties", false}}
}

func typed(name string) object { return object{{"type", name}} }

func text(maxLength int) object { return object{{"type", "string"}, {"maxLength", maxLength}} }

func enum(values []string) object { return object{{"type", "string"}, {"enum", values}} }

// stepSchema returns the schema of a call over one array, with at most limit values of enums, and their number.
func stepSchema(q *Question, a *Array, r Restriction, limit int) (object, int) {
	fields := q.relevant(a)
	fields = fields[:min(len(fields), maxOfferedFields, max(4, limit/5))]
	var conditions, groups, metrics []string
	for _, f := range fields {
		if f.Path == "" {
			continue
		}
		if f.scalar() || f.optional() {
			conditions = append(conditions, f.Path)
		}
		if f.scalar() {
			groups = append(groups, f.Path)
		}
		metrics = append(metrics, f.metrics()...)
	}
	metrics = append([]string{metricCount}, metrics...)
	groups = append([]string{""}, groups...)
	minFilter := 0
	if r.Filter != nil {
		conditions, minFilter = r.Filter, 1
	}
	if r.Metrics != nil {
		metrics = r.Metrics
	}
	if r.Groups != nil {
		groups = r.Groups
	}
	filter := object{{"type", "array"}, {"minItems", minFilter}, {"maxItems", maxConditions}, {"items", strict(object{
		{"field", enum(conditions)}, {"op", enum(operators)},
		{"value", object{{"anyOf", []any{text(maxValueText), typed("number"), typed("boolean"), typed("null")}}}},
	})}}
	if len(conditions) == 0 {
		filter = object{{"type", "array"}, {"maxItems", 0}, {"items", object{{"type", "null"}}}}
	}
	return strict(object{
		{"data_key", object{{"type", "string"}, {"const", a.Key}}}, {"conditions", text(maxConditionsText)},
		{"filter", filter}, {"group_by", enum(groups)}, {"metric", enum(metrics)},
	}), len(conditions) + len(groups) + len(metrics)
}
