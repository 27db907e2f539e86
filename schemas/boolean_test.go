package schemas_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"cairn/schemas"
)

// keywords of JSON Schema whose value is a boolean, an instance or a list of instances.
var instances = map[string]bool{"default": true, "const": true, "enum": true, "examples": true, "example": true,
	"uniqueItems": true, "deprecated": true, "readOnly": true, "writeOnly": true}

// booleanSchemas returns the paths of the booleans in the value of a schema.
func booleanSchemas(path string, v any) (found []string) {
	switch v := v.(type) {
	case bool:
		return []string{path}
	case []any:
		for _, e := range v {
			found = append(found, booleanSchemas(path+"[]", e)...)
		}
	case map[string]any:
		for name, e := range v {
			if !instances[name] {
				found = append(found, booleanSchemas(path+"."+name, e)...)
			}
		}
	}
	return found
}

func TestDefinitionsHaveNoBooleanSchemas(t *testing.T) {
	t.Parallel()
	for _, of := range []reflect.Type{
		reflect.TypeFor[schemas.RPCResponse](), reflect.TypeFor[schemas.ToolResult](), reflect.TypeFor[schemas.RecordList](),
		reflect.TypeFor[schemas.TagWrite](), reflect.TypeFor[schemas.SkillQuery](), reflect.TypeFor[schemas.Rendering](),
	} {
		text, err := schemas.Document(of)
		if err != nil {
			t.Fatal(err)
		}
		var doc any
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		if found := booleanSchemas(of.Name(), doc); len(found) > 0 {
			t.Errorf("boolean schemas: %s", strings.Join(found, ", "))
		}
	}
}
