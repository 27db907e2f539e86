package schemas

import (
	"fmt"
	"iter"
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

// fieldNames returns the names of the interpreted fields of records of the kind, which must
// not be modified.
func fieldNames(kind string) []string { return interpreted[kind] }

// Warnings returns a warning for each field of the record, and of the objects in its arrays, that is
// probably misspelt: it is unknown and resembles an interpreted field that is absent. It also
// returns one for an unknown status, and for a public record that is not published. The fields of
// the warnings are paths in the record.
func Warnings(kind string, record []byte) ([]FieldError, error) {
	warnings, err := misspelt(recordTypes[kind], record, "")
	if err != nil {
		return nil, err
	}
	var has map[string]jsontext.Value
	if err := json.Unmarshal(record, &has); err != nil {
		return nil, err
	}
	warnings = append(warnings, unpublished(kind, has)...)
	var status string
	if has["status"].Kind() != jsontext.KindString || json.Unmarshal(has["status"], &status) != nil || KnownStatus(status) {
		return warnings, nil
	}
	message := fmt.Sprintf("unknown status %.100q, with which records are neither found nor listed; expected one of %s",
		status, strings.Join(statuses, ", "))
	return append(warnings, FieldError{"status", message}), nil
}

// misspelt returns a warning for each member of the object at the path that resembles a
// field of the struct t, or of the structs in its arrays; at most maxFieldErrors.
func misspelt(t reflect.Type, object jsontext.Value, path string) (warnings []FieldError, err error) {
	var has map[string]jsontext.Value
	if err := json.Unmarshal(object, &has); err != nil {
		return nil, err
	}
	known := namesOf(t)
	absent := absentFields(known, has)
	for _, name := range slices.Sorted(maps.Keys(has)) {
		if len(warnings) == maxFieldErrors {
			return warnings, nil
		}
		if slices.Contains(known, name) {
			continue
		}
		if f := resembling(absent, name); f != "" {
			warnings = append(warnings, FieldError{path + truncateValue(name), fmt.Sprintf("unknown field; did you mean %s?", f)})
		}
	}
	for _, f := range fieldsOf(t) {
		list := has[jsonName(f)]
		if f.Type.Kind() != reflect.Slice || f.Type.Elem().Kind() != reflect.Struct || list.Kind() != jsontext.KindBeginArray {
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

// absentField is an interpreted field that an object lacks.
type absentField struct{ name, stem string }

// absentFields returns the known fields that the object lacks.
func absentFields(known []string, has map[string]jsontext.Value) (absent []absentField) {
	for _, name := range known {
		if has[name] == nil {
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

// Nearest returns the candidate that most resembles the id in the segments that differ; empty:
// none does.
func Nearest(id string, candidates iter.Seq[string]) string {
	nearest, least := "", len(id)
	for candidate := range candidates {
		own, other := withoutCommonAffixes(id, candidate)
		if !resembles(own, other) {
			continue
		}
		if d := EditDistance(own, other); d < least || d == least && candidate < nearest {
			nearest, least = candidate, d
		}
	}
	return nearest
}

// withoutCommonAffixes returns the ids without the segments that are equal at their beginnings and ends.
func withoutCommonAffixes(id, other string) (string, string) {
	a, b := strings.Split(id, "."), strings.Split(other, ".")
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return strings.Join(a, "."), strings.Join(b, ".")
}

// resembles reports whether the names differ by one edit, or by two if they are long.
func resembles(name, other string) bool {
	edits := 1
	if len(other) >= 8 {
		edits = 2
	}
	difference := max(len(name)-len(other), len(other)-len(name))
	return difference <= edits && len(other) > 3 && EditDistance(name, other) <= edits
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
// transpositions (optimal string alignment).
func EditDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			replaced := last[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(replaced, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
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
	known := fieldNames(kind)
	for _, link := range []struct{ field, kind string }{
		{"context_builder_ids", KindContextBuilder}, {"tool_ids", KindTool}, {"guardrail_ids", KindGuardrail}, {"skill_ids", KindSkill},
		{"template_id", KindTemplate}, {"replaced_by", kind},
	} {
		value := fields[link.field]
		if !slices.Contains(known, link.field) || value == nil || link.field == kind+"_id" { // its own id
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
