package schemas

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// Definitions collects the JSON Schemas (2020-12) of Go types by name. References
// to them start with Prefix, such as "#/$defs/". The schemas accept what decoding
// and Validate accept. Definitions must not be used concurrently.
type Definitions struct {
	Prefix  string
	Schemas map[string]*jsonschema.Schema
}

// NewDefinitions returns an empty set of definitions.
func NewDefinitions(prefix string) *Definitions {
	return &Definitions{prefix, map[string]*jsonschema.Schema{}}
}

// anyValue describes the schema of an arbitrary JSON value. Without a description it would
// be the boolean schema true, which client generators reject.
const anyValue = "any JSON value"

// alternatives is implemented by types that are encoded as one of several other types.
type alternatives interface{ encodedTypes() []reflect.Type }

// SkillHit is a skill record in a search result.
type SkillHit struct {
	Skill
	Score float64 `json:"score" doc:"relevance in [0,1], comparable between requests"`
}

// records maps the reply fields that hold registered records to the type of the
// record. Keys are field names, or Type.field where a name is ambiguous.
var records = map[string]reflect.Type{
	"SkillHits.skills":        reflect.TypeFor[SkillHit](),
	"TemplateAnswer.template": reflect.TypeFor[Template](),

	"PutRecords.records": reflect.TypeFor[BulkRecord](),
	"RecordList.records": reflect.TypeFor[RecordFound](),

	"manifest":           reflect.TypeFor[Skill](),
	"skills":             reflect.TypeFor[Skill](),
	"AgentAnswer.record": reflect.TypeFor[Agent](),
	"tools":              reflect.TypeFor[Tool](),
	"context_builders":   reflect.TypeFor[ContextBuilder](),
	"guardrails":         reflect.TypeFor[Guardrail](),
}

// Document returns the JSON Schema of the struct t as a self-contained document.
func Document(t reflect.Type) ([]byte, error) {
	d := NewDefinitions("#/$defs/")
	root, err := d.Of(t)
	if err != nil {
		return nil, err
	}
	root.Defs = d.Schemas
	return json.Marshal(root, json.Deterministic(true))
}

// Of returns a reference to the schema of the struct t, after adding it and the
// schemas that it references to the definitions.
func (d *Definitions) Of(t reflect.Type) (*jsonschema.Schema, error) {
	if other, ok := reflect.Zero(t).Interface().(alternatives); ok {
		return d.oneOf(other.encodedTypes())
	}
	ref := &jsonschema.Schema{Ref: d.Prefix + t.Name()}
	if _, ok := d.Schemas[t.Name()]; ok {
		return ref, nil
	}
	d.Schemas[t.Name()] = nil // ends the recursion of recursive types
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
	switch len(list) {
	case 1:
		return list[0], nil
	case len(Kinds()):
		return &jsonschema.Schema{AnyOf: list}, nil // a record may have the ids of several kinds
	default:
		return &jsonschema.Schema{OneOf: list}, nil
	}
}

// describe returns the schema of the struct t.
func (d *Definitions) describe(t reflect.Type) (*jsonschema.Schema, error) {
	references := map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[jsontext.Value](): {Description: anyValue}}
	for _, f := range fieldsOf(t) {
		if err := d.addReferences(references, f.Type); err != nil {
			return nil, err
		}
	}
	delete(references, t) // ForType must describe t itself
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: references})
	if err != nil {
		return nil, err
	}
	s.AdditionalProperties = nil // unknown fields are allowed
	for _, f := range fieldsOf(t) {
		if err := d.annotate(s, t, f); err != nil {
			return nil, err
		}
	}
	if l, ok := limits[t.Name()]; ok {
		l.describe(s)
	}
	return s, nil
}

// addReferences adds references to the structs contained in t to known.
func (d *Definitions) addReferences(references map[reflect.Type]*jsonschema.Schema, t reflect.Type) error {
	switch t.Kind() {
	case reflect.Pointer, reflect.Map:
		return d.addReferences(references, t.Elem())
	case reflect.Slice:
		if err := d.addReferences(references, t.Elem()); err != nil {
			return err
		}
		if items := references[t.Elem()]; items != nil { // required for recursive types
			references[t] = &jsonschema.Schema{Type: "array", Items: items.CloneSchemas()}
		}
	case reflect.Struct:
		s, err := d.Of(t)
		if err != nil {
			return err
		}
		references[t] = s
	}
	return nil
}

// annotate adds the constraints and the description of the field f of t to its property.
func (d *Definitions) annotate(s *jsonschema.Schema, t reflect.Type, f reflect.StructField) error {
	name := jsonName(f)
	p := s.Properties[name]
	if f.Type.Kind() == reflect.Slice && p.Items != nil {
		p.Type, p.Types = "array", nil // replies contain an empty array, not null
	}
	if p.Ref != "" {
		p.Types = nil
	}
	keys := []string{name, declaringType(t, f).Name() + "." + name}
	for _, key := range keys {
		if err := d.setRecordSchema(p, f, records[key]); err != nil {
			return err
		}
	}
	if doc := f.Tag.Get("doc"); doc != "" || f.Type != reflect.TypeFor[jsontext.Value]() {
		p.Description = doc
	}
	if l, ok := limitOf(t, f); ok {
		l.describe(p)
	}
	if optional[keys[1]] {
		s.Required = slices.DeleteFunc(s.Required, func(required string) bool { return required == name })
	}
	return nil
}

// declaringType returns the struct that declares the field f of t: t or a struct embedded in it.
func declaringType(t reflect.Type, f reflect.StructField) reflect.Type {
	for _, i := range f.Index[:len(f.Index)-1] {
		t = t.Field(i).Type
	}
	return t
}

// setRecordSchema replaces the schema of a field of type jsontext.Value, or of its items, by the schema
// of the kind.
func (d *Definitions) setRecordSchema(p *jsonschema.Schema, f reflect.StructField, kind reflect.Type) error {
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

// fieldsOf returns the fields of t that are encoded in JSON.
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
