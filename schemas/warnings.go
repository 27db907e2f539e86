package schemas

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

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
		for _, f := range fieldsOf(t) {
			names[kind] = append(names[kind], jsonName(f))
		}
	}
	return names
}()

// fieldNames returns the names of the interpreted fields of records of the kind, which must
// not be modified.
func fieldNames(kind string) []string { return interpreted[kind] }

// FieldWarnings returns a warning for each unknown field of the record whose name resembles
// that of an interpreted field that the record lacks, and for a public record that is not
// published.
func FieldWarnings(kind string, record []byte) ([]FieldError, error) {
	var has map[string]jsontext.Value
	if err := json.Unmarshal(record, &has); err != nil {
		return nil, err
	}
	warnings := unpublished(kind, has)
	known := fieldNames(kind)
	for _, name := range slices.Sorted(maps.Keys(has)) {
		if slices.Contains(known, name) {
			continue
		}
		for _, k := range known {
			if has[k] == nil && resembles(name, k) {
				warnings = append(warnings, FieldError{"record." + truncateValue(name), fmt.Sprintf("unknown field; did you mean %s?", k)})
				break
			}
		}
	}
	return warnings, nil
}

// resembles reports whether one edit of the name, or two of a long one, give the other.
func resembles(name, other string) bool {
	edits := 1
	if len(other) >= 8 {
		edits = 2
	}
	difference := max(len(name)-len(other), len(other)-len(name))
	return difference <= edits && len(other) > 3 && distance(name, other) <= edits
}

// distance returns the Levenshtein distance of two texts in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Reference is an id in a record that names another record.
type Reference struct {
	Field string // path in the request
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
			list = append(list, Reference{"record." + link.field, link.kind, id})
			continue
		}
		var ids []string
		if err := json.Unmarshal(value, &ids); err != nil {
			return nil, err
		}
		for i, id := range ids {
			list = append(list, Reference{fmt.Sprintf("record.%s[%d]", link.field, i), link.kind, id})
		}
	}
	return list, nil
}

// nulls returns the interpreted fields of the record whose value is null, except tenant_id,
// for which null is valid.
func nulls(kind string, has map[string]jsontext.Value) (names []string) {
	for _, name := range fieldNames(kind) {
		if name != "tenant_id" && has[name].Kind() == jsontext.KindNull {
			names = append(names, name)
		}
	}
	return names
}
