package schemas

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// Definitions are JSON Schemas (2020-12) of Go types by name, for a document in
// which they stand under Prefix, such as "#/$defs/". They say what the types and
// Validate do. Not for concurrent use.
type Definitions struct {
	Prefix  string
	Schemas map[string]*jsonschema.Schema
}

// NewDefinitions has no schema yet.
func NewDefinitions(prefix string) *Definitions {
	return &Definitions{prefix, map[string]*jsonschema.Schema{}}
}

// standIn is a type that is written in JSON as one of other types.
type standIn interface{ standsFor() []reflect.Type }

func (Record[T]) standsFor() []reflect.Type { return []reflect.Type{reflect.TypeFor[T]()} }

func (SkillAnswer) standsFor() []reflect.Type {
	return []reflect.Type{reflect.TypeFor[SkillPackage](), reflect.TypeFor[SkillHits]()}
}

// SkillHit is a skill record as a search returns it.
type SkillHit struct {
	Skill
	Score float64 `json:"score" doc:"in [0,1], comparable between calls"`
}

// records are the fields of replies that hold records as they were registered,
// by name, or by type and name.
var records = map[string]reflect.Type{
	"SkillHits.skills":        reflect.TypeFor[SkillHit](),
	"TemplateAnswer.template": reflect.TypeFor[Template](),

	"manifest":         reflect.TypeFor[Skill](),
	"skills":           reflect.TypeFor[Skill](),
	"record":           reflect.TypeFor[Agent](),
	"tools":            reflect.TypeFor[Tool](),
	"context_builders": reflect.TypeFor[ContextBuilder](),
	"guardrails":       reflect.TypeFor[Guardrail](),
}

// Of is a reference to the schema of the struct t, which is added to the
// definitions with all that it needs.
func (d *Definitions) Of(t reflect.Type) (*jsonschema.Schema, error) {
	if other, ok := reflect.Zero(t).Interface().(standIn); ok {
		return d.oneOf(other.standsFor())
	}
	ref := &jsonschema.Schema{Ref: d.Prefix + t.Name()}
	if _, known := d.Schemas[t.Name()]; known {
		return ref, nil
	}
	d.Schemas[t.Name()] = nil // a type that holds itself ends here
	s, err := d.describe(t)
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", t, err)
	}
	d.Schemas[t.Name()] = s
	return ref, nil
}

func (d *Definitions) oneOf(types []reflect.Type) (*jsonschema.Schema, error) {
	var list []*jsonschema.Schema
	for _, t := range types {
		s, err := d.Of(t)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	if len(list) == 1 {
		return list[0], nil
	}
	return &jsonschema.Schema{OneOf: list}, nil
}

// describe is the schema of the struct t itself.
func (d *Definitions) describe(t reflect.Type) (*jsonschema.Schema, error) {
	known := map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[jsontext.Value](): {}}
	for _, f := range fieldsOf(t) {
		if err := d.addParts(known, f.Type); err != nil {
			return nil, err
		}
	}
	delete(known, t) // t itself is what is to be described
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: known})
	if err != nil {
		return nil, err
	}
	s.AdditionalProperties = nil // further members are kept or passed over
	for _, f := range fieldsOf(t) {
		if err := d.complete(s, t, f); err != nil {
			return nil, err
		}
	}
	if more := limits[t.Name()]; more != nil {
		more(s)
	}
	return s, nil
}

// addParts adds to known references to the structs in t.
func (d *Definitions) addParts(known map[reflect.Type]*jsonschema.Schema, t reflect.Type) error {
	switch t.Kind() {
	case reflect.Pointer, reflect.Map:
		return d.addParts(known, t.Elem())
	case reflect.Slice:
		if err := d.addParts(known, t.Elem()); err != nil {
			return err
		}
		if items := known[t.Elem()]; items != nil { // named here too: it may hold itself
			known[t] = &jsonschema.Schema{Type: "array", Items: items.CloneSchemas()}
		}
	case reflect.Struct:
		s, err := d.Of(t)
		if err != nil {
			return err
		}
		known[t] = s
	}
	return nil
}

// complete adds to the property of the field f of t what its Go type does not say.
func (d *Definitions) complete(s *jsonschema.Schema, t reflect.Type, f reflect.StructField) error {
	name := jsonName(f)
	p := s.Properties[name]
	if f.Type.Kind() == reflect.Slice && p.Items != nil {
		p.Type, p.Types = "array", nil // never null in a reply
	}
	if p.Ref != "" {
		p.Types = nil
	}
	keys := []string{name, ownerOf(t, f).Name() + "." + name}
	for _, key := range keys {
		if err := d.holdsRecords(p, f, records[key]); err != nil {
			return err
		}
	}
	p.Description = f.Tag.Get("doc")
	for _, key := range keys {
		if limit := limits[key]; limit != nil {
			limit(p)
		}
	}
	if optional[keys[1]] {
		s.Required = without(s.Required, name)
	}
	return nil
}

// ownerOf is the struct that declares the field f of t: t, or one within it.
func ownerOf(t reflect.Type, f reflect.StructField) reflect.Type {
	for _, i := range f.Index[:len(f.Index)-1] {
		t = t.Field(i).Type
	}
	return t
}

// holdsRecords says of a property which kind of record it holds, when it does.
func (d *Definitions) holdsRecords(p *jsonschema.Schema, f reflect.StructField, kind reflect.Type) error {
	value := reflect.TypeFor[jsontext.Value]()
	if kind == nil || f.Type != value && (f.Type.Kind() != reflect.Slice || f.Type.Elem() != value) {
		return nil
	}
	ref, err := d.Of(kind)
	if err != nil {
		return err
	}
	if f.Type == value {
		*p = *ref
	} else {
		p.Items = ref
	}
	return nil
}

// fieldsOf are the fields of t that are written in JSON.
func fieldsOf(t reflect.Type) []reflect.StructField {
	var list []reflect.StructField
	for _, f := range reflect.VisibleFields(t) {
		if !f.Anonymous && jsonName(f) != "-" {
			list = append(list, f)
		}
	}
	return list
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func without(list []string, name string) []string {
	var rest []string
	for _, s := range list {
		if s != name {
			rest = append(rest, s)
		}
	}
	return rest
}
