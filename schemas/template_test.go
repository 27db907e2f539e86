package schemas_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
)

func TestRenderTemplate(t *testing.T) {
	t.Parallel()
	template := schemas.Template{TemplateID: "t", Body: "{{site}}: {{ max }} of {{all}}{{x}}, {{open}", Variables: []schemas.TemplateVariable{
		{Name: "site", Required: true}, {Name: "max", Type: schemas.VariableInteger, Default: jsontext.Value("5")},
		{Name: "all", Type: schemas.VariableBoolean}, {Name: "rate", Type: schemas.VariableNumber},
	}}
	large := `"` + strings.Repeat("x", 64<<10) + `"`
	for _, row := range []struct {
		name, values, want string // want: the text, or the field of the error
		err                error
	}{
		{"a value, a default and an absent value", `{"site":"Oslo"}`, "Oslo: 5 of {{x}}, {{open}", nil},
		{"values of all types", `{"site":"Å\n","max":9007199254740993,"all":true,"rate":1e-3}`,
			"Å\n: 9007199254740993 of true{{x}}, {{open}", nil},
		{"a placeholder in a value is inserted as it is", `{"site":"{{max}} {{site}}"}`,
			"{{max}} {{site}}: 5 of {{x}}, {{open}", nil},
		{"a required value is missing", `{}`, "variables.site", schemas.ErrMalformed},
		{"null is no value", `{"site":null}`, "variables.site", schemas.ErrMalformed},
		{"an undeclared variable", `{"site":"x","x":"y"}`, "variables.x", schemas.ErrMalformed},
		{"texts of all types", `{"site":"5","max":"7","all":"false","rate":"1e-3"}`, "5: 7 of false{{x}}, {{open}", nil},
		{"another text for an integer", `{"site":"x","max":"five"}`, "variables.max", schemas.ErrMalformed},
		{"the empty text for an integer", `{"site":"x","max":""}`, "variables.max", schemas.ErrMalformed},
		{"a text in a text for an integer", `{"site":"x","max":"\"5\""}`, "variables.max", schemas.ErrMalformed},
		{"a number in a text for a boolean", `{"site":"x","all":"5"}`, "variables.all", schemas.ErrMalformed},
		{"a fraction for an integer", `{"site":"x","max":5.0}`, "variables.max", schemas.ErrMalformed},
		{"a number for a boolean", `{"site":"x","all":1}`, "variables.all", schemas.ErrMalformed},
		{"an object for a text", `{"site":{}}`, "variables.site", schemas.ErrMalformed},
		{"a value that is too large", `{"site":` + large + `}`, "variables.site", schemas.ErrMalformed},
	} {
		var values map[string]jsontext.Value
		if err := json.Unmarshal([]byte(row.values), &values); err != nil {
			t.Fatal(err)
		}
		got, err := template.Render(values)
		if e, ok := errors.AsType[*schemas.Error](err); ok && len(e.Fields) > 0 {
			got = e.Fields[0].Field
		}
		if got != row.want || !errors.Is(err, row.err) {
			t.Errorf("%s: got %q, %v, want %q", row.name, got, err, row.want)
		}
	}
	template.Body = ""
	if _, err := template.Render(map[string]jsontext.Value{"site": jsontext.Value(`"x"`)}); !errors.Is(err, schemas.ErrMalformed) {
		t.Errorf("without a body: %v", err)
	}
	template.Body = strings.Repeat("{{site}}", 17)
	almost := jsontext.Value(`"` + strings.Repeat("x", 64<<10-2) + `"`)
	if _, err := template.Render(map[string]jsontext.Value{"site": almost}); !errors.Is(err, schemas.ErrResponseTooLarge) {
		t.Errorf("a result of more than 1 MiB: %v", err)
	}
}

func TestTemplateVariablesAreValidated(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, variables, want string }{
		{"all types", `[{"name":"a"},{"name":"b-c_1","type":"integer","default":5},{"name":"d","type":"boolean","default":true}]`, ""},
		{"an invalid name", `[{"name":"a b"}]`, "template_data.variables[0].name"},
		{"no name", `[{}]`, "template_data.variables[0].name"},
		{"two of one name", `[{"name":"a"},{"name":"a"}]`, "template_data.variables[1].name"},
		{"an unknown type", `[{"name":"a","type":"date"}]`, "template_data.variables[0].type"},
		{"a default of another type", `[{"name":"a","type":"integer","default":"5"}]`, "template_data.variables[0].default"},
		{"a default of a required variable", `[{"name":"a","required":true,"default":"5"}]`, "template_data.variables[0].default"},
		{"too many", `[` + strings.TrimSuffix(strings.Repeat(`{"name":"a"},`, 101), ",") + `]`, "template_data.variables"},
	} {
		body := `{"template_data":{"template_id":"t","body":"x","variables":` + row.variables + `}}`
		_, err := schemas.Decode[schemas.RegisterTemplate]([]byte(body), schemas.ErrInvalidRegistration)
		got := ""
		if e, ok := errors.AsType[*schemas.Error](err); ok && len(e.Fields) > 0 {
			got = e.Fields[0].Field
		}
		if got != row.want {
			t.Errorf("%s: got %v, want %q", row.name, err, row.want)
		}
	}
}
