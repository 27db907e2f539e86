package describe

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/schemas"
)

//go:embed reference.html
var referenceHTML string

var referencePage = template.Must(template.New("reference").Funcs(template.FuncMap{
	"name":    func(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] },
	"limits":  limitsOf,
	"fields":  fieldsOf,
	"example": func(path string) string { return requestExamples[path] },
}).Parse(referenceHTML))

// row is an operation in the reference.
type row struct {
	Method, Path, Summary, Subject, Example, Stream string
	Status                                          int
	Parameters                                      []object
	Request, Reply                                  *jsonschema.Schema
	Failures                                        []*schemas.Error
}

type section struct {
	Name string
	Rows []row
}

// reference returns the body of the reference page.
func reference(specs []Spec, types *schemas.Definitions, secured bool) (template.HTML, error) {
	var sections []section
	for _, r := range specs {
		shown, err := newRow(operation{r, types, secured})
		if err != nil {
			return "", err
		}
		index := slices.IndexFunc(sections, func(s section) bool { return s.Name == r.group() })
		if index < 0 {
			index = len(sections)
			sections = append(sections, section{Name: r.group()})
		}
		sections[index].Rows = append(sections[index].Rows, shown)
	}
	var b bytes.Buffer
	err := referencePage.Execute(&b, object{
		"Sections": sections, "Events": Analysis.Events,
		"Types": types.Schemas, "TypeNames": slices.Sorted(maps.Keys(types.Schemas)),
	})
	return template.HTML(b.String()), err // escaped by the template
}

func newRow(r operation) (row, error) {
	s := row{Method: r.Method, Path: r.Path, Summary: r.Summary, Subject: r.Subject, Status: r.Status,
		Failures: r.Failures(r.secured)}
	if r.Stream != nil && r.Reply == nil {
		s.Stream = r.Stream.Example
	}
	var err error
	if r.TakesBody() {
		s.Example = requestExamples[r.Path]
		if r.BodyMember == "" {
			s.Request, err = r.types.Of(r.Request)
		}
		if err != nil {
			return s, err
		}
	}
	if r.InURL {
		all, err := r.parameters()
		if err != nil {
			return s, err
		}
		for _, p := range all {
			if p["$ref"] == nil {
				s.Parameters = append(s.Parameters, p)
			}
		}
	}
	if r.Reply != nil && r.Status != http.StatusNoContent {
		s.Reply, err = r.content()
	}
	return s, err
}

// field is a member of an object in the reference.
type field struct {
	Name     string
	Schema   *jsonschema.Schema
	Required bool
}

func fieldsOf(s *jsonschema.Schema) []field {
	var list []field
	for _, name := range s.PropertyOrder {
		list = append(list, field{name, s.Properties[name], slices.Contains(s.Required, name)})
	}
	return list
}

// limitsOf describes the constraints of a value beyond its type.
func limitsOf(s *jsonschema.Schema) string {
	var limits []string
	switch {
	case s.MinLength != nil && s.MaxLength != nil:
		limits = append(limits, fmt.Sprintf("%d to %d characters", *s.MinLength, *s.MaxLength))
	case s.MinLength != nil:
		limits = append(limits, "not empty")
	case s.MaxLength != nil:
		limits = append(limits, fmt.Sprintf("at most %d characters", *s.MaxLength))
	}
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		limits = append(limits, fmt.Sprintf("%v to %v", *s.Minimum, *s.Maximum))
	case s.Minimum != nil:
		limits = append(limits, fmt.Sprintf("at least %v", *s.Minimum))
	}
	if s.MinItems != nil && s.MaxItems != nil {
		limits = append(limits, fmt.Sprintf("%d to %d items", *s.MinItems, *s.MaxItems))
	}
	if s.MaxProperties != nil {
		limits = append(limits, fmt.Sprintf("at most %d members", *s.MaxProperties))
	}
	if s.Enum != nil {
		limits = append(limits, "one of "+strings.Trim(fmt.Sprint(s.Enum), "[]"))
	}
	if strings.Contains(s.Pattern, `[^.\s`) {
		limits = append(limits, "dotted, segments without white space")
	}
	if s.Default != nil {
		limits = append(limits, "default "+string(s.Default))
	}
	return strings.Join(limits, "; ")
}
