package schemas

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Types of the variables of a template.
const (
	VariableString  = "string"
	VariableNumber  = "number"
	VariableInteger = "integer"
	VariableBoolean = "boolean"
)

const (
	// maxTemplateBody is the maximum length of the body of a template in characters.
	maxTemplateBody = 100_000
	// maxVariables is the maximum number of variables of a template.
	maxVariables = 100
	// maxVariableValue is the maximum length of a value in bytes, as JSON.
	maxVariableValue = 64 << 10
	// maxRendered is the maximum length of a rendered template in bytes.
	maxRendered = 1 << 20
)

const variablePattern = `[A-Za-z_][A-Za-z0-9_-]*`

var (
	validVariable = regexp.MustCompile(`^` + variablePattern + `$`)
	placeholder   = regexp.MustCompile(`\{\{ *(` + variablePattern + `) *\}\}`)
)

// Template contains the interpreted fields of a template record.
type Template struct {
	TemplateID  string   `json:"template_id"`
	TenantID    *string  `json:"tenant_id,omitzero" doc:"absent or null: global"`
	Domain      string   `json:"domain,omitzero"`
	SkillIDs    []string `json:"skill_ids,omitempty"`
	Description string   `json:"description,omitzero"`
	// Body and Variables: see Render.
	Body      string             `json:"body,omitzero" doc:"text with variables as {{name}}, which POST /resolve/template replaces with values"`
	Variables []TemplateVariable `json:"variables,omitempty" doc:"the variables of the body"`
	Metadata
}

// TemplateVariable declares a variable of the body of a template.
type TemplateVariable struct {
	Name        string         `json:"name" doc:"letters, digits, - and _"`
	Type        string         `json:"type,omitzero" doc:"string (default), number, integer or boolean"`
	Default     jsontext.Value `json:"default,omitzero" doc:"the value without one in the request; by default the empty text"`
	Required    bool           `json:"required,omitzero" doc:"a request without a value is rejected"`
	Description string         `json:"description,omitzero"`
}

// TemplateQuery requests a template, and its body with the values of variables.
type TemplateQuery struct {
	SkillID    string                    `json:"skill_id,omitzero" doc:"the template of this skill"`
	TemplateID string                    `json:"template_id,omitzero" doc:"this template, instead of skill_id"`
	Variables  map[string]jsontext.Value `json:"variables,omitzero" doc:"values of the variables, possibly none: the reply has the rendered body; a number or boolean may be a string with its JSON text"`
	QueryOptions
}

func (q *TemplateQuery) validate(c *check) {
	switch {
	case q.SkillID == "" && q.TemplateID == "":
		c.fail("skill_id", "required without template_id")
	case q.SkillID != "" && q.TemplateID != "":
		c.fail("template_id", "expected either skill_id or template_id")
	}
}

// checkVariables validates what the limits of the fields do not express.
func checkVariables(c *check, field string, list []TemplateVariable) {
	names := map[string]bool{}
	for i, v := range list {
		item := fmt.Sprintf("%s[%d].", field, i)
		if names[v.Name] {
			c.fail(item+"name", "%.100q is declared twice", v.Name)
		}
		names[v.Name] = true
		if v.Default == nil {
			continue
		}
		if v.Required {
			c.fail(item+"default", "expected none for a required variable")
		} else if _, problem := v.text(v.Default); problem != "" {
			c.fail(item+"default", "%s", problem)
		}
	}
}

// text returns the text that replaces the variable with the value, or the expected type.
func (v TemplateVariable) text(value jsontext.Value) (text, problem string) {
	kind := value.Kind()
	if len(value) > maxVariableValue {
		return "", fmt.Sprintf("expected at most %d bytes, got %d", maxVariableValue, len(value))
	}
	switch v.Type {
	case VariableNumber:
		if kind != jsontext.KindNumber {
			return "", "expected a number, got " + kindName(kind)
		}
	case VariableInteger:
		if kind != jsontext.KindNumber || strings.ContainsAny(string(value), ".eE") {
			return "", "expected an integer, got " + kindName(kind)
		}
	case VariableBoolean:
		if kind != jsontext.KindTrue && kind != jsontext.KindFalse {
			return "", "expected true or false, got " + kindName(kind)
		}
	default:
		if kind != jsontext.KindString {
			return "", "expected a string, got " + kindName(kind)
		}
		unquoted, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return "", err.Error()
		}
		return string(unquoted), ""
	}
	return string(value), ""
}

// unquoted returns the value whose JSON text a string has, unless the variable takes strings.
func (v TemplateVariable) unquoted(value jsontext.Value) jsontext.Value {
	if v.typeName() == VariableString || value.Kind() != jsontext.KindString {
		return value
	}
	if text, err := jsontext.AppendUnquote(nil, value); err == nil && jsontext.Value(text).IsValid() {
		return text
	}
	return value
}

// Render returns the body with the values in place of {{name}}. A value is inserted as it is: placeholders in it are
// not replaced. The value of a variable of another type than string may be a string with its JSON text, since the
// command line and the Model Context Protocol have texts only. It returns ErrMalformed for values that are missing,
// undeclared or of another type, and ErrResponseTooLarge if the result has more than 1 MiB.
func (t Template) Render(values map[string]jsontext.Value) (string, error) {
	var c check
	if t.Body == "" {
		c.fail("variables", "the template %.100q has no body", t.TemplateID)
	}
	texts := map[string]string{}
	for _, v := range t.Variables {
		value := v.unquoted(values[v.Name])
		if value == nil {
			value = v.Default
		}
		texts[v.Name] = ""
		switch {
		case value == nil && v.Required:
			c.fail("variables."+v.Name, "required: a value of the type %s", v.typeName())
		case value != nil:
			text, problem := v.text(value)
			if problem != "" {
				c.fail("variables."+v.Name, "%s", problem)
			}
			texts[v.Name] = text
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, declared := texts[name]; !declared {
			c.fail("variables."+truncateValue(name), "the template declares no such variable")
		}
	}
	if len(c) > 0 {
		return "", c.as(ErrMalformed)
	}
	return t.expand(texts)
}

// expand replaces the placeholders of declared variables in one pass.
func (t Template) expand(texts map[string]string) (string, error) {
	var b strings.Builder
	end := 0
	for _, match := range placeholder.FindAllStringSubmatchIndex(t.Body, -1) {
		text, declared := texts[t.Body[match[2]:match[3]]]
		if !declared {
			continue
		}
		b.WriteString(t.Body[end:match[0]])
		b.WriteString(text)
		if end = match[1]; b.Len() > maxRendered {
			break
		}
	}
	if b.Len()+len(t.Body)-end > maxRendered {
		return "", ErrResponseTooLarge.Because(fmt.Sprintf("the rendered template has more than %d bytes", maxRendered))
	}
	b.WriteString(t.Body[end:])
	return b.String(), nil
}

func (v TemplateVariable) typeName() string {
	if v.Type == "" {
		return VariableString
	}
	return v.Type
}

// withoutEffect returns warnings about a record that gives a model nothing: a guardrail without text, a context
// builder without instructions and tools, and a template without body. A field that Cairn does not interpret may have
// it instead.
func withoutEffect(kind string, members map[string]jsontext.Value) (warnings []FieldError) {
	text := func(name string) (s string) {
		_ = json.Unmarshal(members[name], &s) // registration checks the type
		return strings.TrimSpace(s)
	}
	other := false
	for name := range members {
		other = other || !slices.Contains(interpreted[kind], name)
	}
	var tools []string
	_ = json.Unmarshal(members["tool_ids"], &tools)
	switch {
	case kind == KindGuardrail && text("description") == "" && !other:
		return []FieldError{{"description", "the guardrail has no text; expected what a model must or must not do"}}
	case kind == KindContextBuilder && text("instructions") == "" && len(tools) == 0 && !other:
		return []FieldError{{"instructions", "the context builder has no effect; expected instructions or tool_ids"}}
	case kind == KindTemplate && text("body") == "" && !other:
		return []FieldError{{"body", "the template has no body; expected a text, with variables as {{name}}"}}
	case kind == KindTemplate:
		return undeclared(members)
	}
	return nil
}

// OtherTexts returns the texts of a record in fields that Cairn does not interpret, ordered by the names of the fields.
func OtherTexts(kind string, record []byte) (texts []string) {
	var members map[string]any
	_ = json.Unmarshal(record, &members) // no texts without an object
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if text, ok := members[name].(string); ok && !slices.Contains(interpreted[kind], name) {
			texts = append(texts, text)
		}
	}
	return texts
}

// undeclared returns a warning for each placeholder of the body that names no declared variable.
func undeclared(members map[string]jsontext.Value) (warnings []FieldError) {
	var t Template
	_ = json.Unmarshal(members["body"], &t.Body)
	_ = json.Unmarshal(members["variables"], &t.Variables)
	names := map[string]bool{}
	for _, v := range t.Variables {
		names[v.Name] = true
	}
	for _, match := range placeholder.FindAllStringSubmatch(t.Body, -1) {
		if name := match[1]; !names[name] && len(warnings) < maxFieldErrors {
			names[name] = true
			warnings = append(warnings, FieldError{"body", fmt.Sprintf(
				"{{%.100s}} is not declared in variables, and stays as it is", name)})
		}
	}
	return warnings
}
