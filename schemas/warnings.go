package schemas

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// recordTypes are the types of the records by kind.
var recordTypes = map[string]reflect.Type{
	KindSkill: reflect.TypeFor[Skill](), KindAgent: reflect.TypeFor[Agent](), KindTool: reflect.TypeFor[Tool](),
	KindContextBuilder: reflect.TypeFor[ContextBuilder](), KindGuardrail: reflect.TypeFor[Guardrail](),
	KindTemplate: reflect.TypeFor[Template](),
}

// interpreted are the names of the interpreted fields of records by kind.
var interpreted = func() map[string][]string {
	names := map[string][]string{}
	for kind, t := range recordTypes {
		names[kind] = namesOf(t)
	}
	return names
}()

func namesOf(t reflect.Type) (names []string) {
	for _, f := range fieldsOf(t) {
		names = append(names, jsonName(f))
	}
	return names
}

// Warnings returns a warning for each field of the record, and of the objects in its arrays, that is
// probably misspelt: it is unknown and resembles an interpreted field that is absent. It also returns
// one for an unknown status, for a public record that is not published, and for a record without
// effect. The fields of the warnings are paths in the record.
func Warnings(kind string, record []byte) ([]FieldError, error) {
	warnings, err := misspelt(recordTypes[kind], record, "")
	if err != nil {
		return nil, err
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(record, &members); err != nil {
		return nil, err
	}
	warnings = append(append(warnings, unpublished(kind, members)...), withoutEffect(kind, members)...)
	var status string
	_ = json.Unmarshal(members["status"], &status) // "" if it is no text
	if status == "" || slices.Contains(statuses, status) {
		return warnings, nil
	}
	message := fmt.Sprintf("unknown status %.100q, with which records are neither found nor listed; expected one of %s",
		status, strings.Join(statuses, ", "))
	return append(warnings, FieldError{"status", message}), nil
}

// misspelt returns a warning for each member of the object at the path that resembles a
// field of the struct t, or of the structs in its arrays; at most maxFieldErrors.
func misspelt(t reflect.Type, object jsontext.Value, path string) (warnings []FieldError, err error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(object, &members); err != nil {
		return nil, err
	}
	names := namesOf(t)
	absent := absentFields(names, members)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if len(warnings) == maxFieldErrors {
			return warnings, nil
		}
		if slices.Contains(names, name) {
			continue
		}
		if f := resembling(absent, name); f != "" {
			warnings = append(warnings,
				FieldError{path + truncateValue(name), fmt.Sprintf("unknown field; did you mean %s?", f)})
		}
	}
	for _, f := range fieldsOf(t) {
		list := members[jsonName(f)]
		if f.Type.Kind() != reflect.Slice || f.Type.Elem().Kind() != reflect.Struct ||
			list.Kind() != jsontext.KindBeginArray {
			continue
		}
		var elements []jsontext.Value
		if err := json.Unmarshal(list, &elements); err != nil {
			return nil, err
		}
		for i, element := range elements {
			below, err := misspelt(f.Type.Elem(), element, fmt.Sprintf("%s%s[%d].", path, jsonName(f), i))
			if err != nil {
				return nil, err
			}
			if warnings = append(warnings, below...); len(warnings) >= maxFieldErrors {
				return warnings[:maxFieldErrors], nil
			}
		}
	}
	return warnings, nil
}

// absentField is an interpreted field that an object lacks, with its stem.
type absentField struct{ name, stem string }

func absentFields(names []string, members map[string]jsontext.Value) (absent []absentField) {
	for _, name := range names {
		if members[name] == nil {
			absent = append(absent, absentField{name, stem(name)})
		}
	}
	return absent
}

// resembling returns the name of the first field that resembles the name; empty: none does.
func resembling(absent []absentField, name string) string {
	own := stem(name)
	for _, f := range absent {
		if own == f.stem || resembles(name, f.name) {
			return f.name
		}
	}
	return ""
}

// resembles reports whether the names differ by one edit, or by two if they are long.
func resembles(name, other string) bool {
	limit := 1
	if len(other) >= 8 {
		limit = 2
	}
	return len(other) > 3 && EditDistance(name, other, limit) <= limit
}

var withoutSeparators = strings.NewReplacer("_", "", "-", "")

// stem returns the name without case, separators, and the suffix of an id or of a plural.
func stem(name string) string {
	name = withoutSeparators.Replace(strings.ToLower(name))
	for _, suffix := range []string{"ids", "id", "s"} {
		if rest, ok := strings.CutSuffix(name, suffix); ok && len(rest) > 3 {
			return rest
		}
	}
	return name
}

// EditDistance returns the Damerau-Levenshtein distance of two texts in bytes, restricted to adjacent
// transpositions (optimal string alignment); limit+1 if it is larger than limit. It takes time in proportion to
// limit and the shorter text, because it computes only the cells of the matrix that may be within the limit, at
// most limit from the diagonal (Ukkonen, Algorithms for Approximate String Matching, 1985).
func EditDistance(a, b string, limit int) int {
	if max(len(a)-len(b), len(b)-len(a)) > limit {
		return limit + 1
	}
	first := func() []int { return slices.Repeat([]int{limit + 1}, 2*limit+3) } // with one cell more on either side
	before, last, row := first(), first(), first()
	for j := range limit + 1 {
		row[j+limit+1] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		least := limit + 1
		for k := 1; k < len(row)-1; k++ { // the distance of a[:i+1] and b[:j+1]
			j := i + k - limit - 1
			row[k] = limit + 1
			if j == -1 {
				row[k] = i + 1
			} else if j >= 0 && j < len(b) {
				replaced := last[k]
				if a[i] != b[j] {
					replaced++
				}
				row[k] = min(replaced, last[k+1]+1, row[k-1]+1, limit+1)
				if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
					row[k] = min(row[k], before[k]+1)
				}
			}
			least = min(least, row[k])
		}
		if least > limit {
			return least
		}
	}
	return row[len(b)-len(a)+limit+1]
}

// Reference is an id in a record that names another record.
type Reference struct {
	Field string // path in the record
	Kind  string
	ID    string
}

// References returns the ids in a record of the kind that name other records. It skips
// fields that the kind does not interpret.
func References(kind string, record []byte) (list []Reference, err error) {
	var fields map[string]jsontext.Value
	if err := json.Unmarshal(record, &fields); err != nil {
		return nil, err
	}
	names := interpreted[kind]
	for _, link := range []struct{ field, kind string }{
		{"context_builder_ids", KindContextBuilder}, {"tool_ids", KindTool}, {"guardrail_ids", KindGuardrail},
		{"skill_ids", KindSkill},
		{"template_id", KindTemplate}, {"replaced_by", kind},
	} {
		value := fields[link.field]
		if !slices.Contains(names, link.field) || value == nil || link.field == kind+"_id" { // its own id
			continue
		}
		if value.Kind() == jsontext.KindString {
			var id string
			if err := json.Unmarshal(value, &id); err != nil {
				return nil, err
			}
			list = append(list, Reference{link.field, link.kind, id})
			continue
		}
		var ids []string
		if err := json.Unmarshal(value, &ids); err != nil {
			return nil, err
		}
		for i, id := range ids {
			list = append(list, Reference{fmt.Sprintf("%s[%d]", link.field, i), link.kind, id})
		}
	}
	return list, nil
}
