package mcp

import (
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// portable returns the part of a schema that the models of clients accept: some clients refuse the whole list of tools
// for a list of types or an unknown keyword, and workers validate the arguments anyway. Nullable values keep null
// as an alternative if null is true, and have one type otherwise.
func portable(s *jsonschema.Schema, null bool) *jsonschema.Schema {
	if s == nil {
		return nil
	}
	p := &jsonschema.Schema{
		Ref: s.Ref, Type: s.Type, Description: s.Description, Required: s.Required,
		Items: portable(s.Items, null), Properties: portableAll(s.Properties, null), Defs: portableAll(s.Defs, null),
		Enum: slices.DeleteFunc(slices.Clone(s.Enum), func(value any) bool { return value == "" }),
	}
	for _, name := range s.Types {
		if name != "null" {
			p.Type = name
		}
	}
	if !null && p.Type == "" && p.Ref == "" { // a value of any type, of which workers accept the others too
		p.Type = "string"
	}
	if null && slices.Contains(s.Types, "null") {
		value := *p
		value.Description = ""
		return &jsonschema.Schema{Description: p.Description, AnyOf: []*jsonschema.Schema{&value, {Type: "null"}}}
	}
	return p
}

func portableAll(list map[string]*jsonschema.Schema, null bool) map[string]*jsonschema.Schema {
	list = maps.Clone(list)
	for name, s := range list {
		list[name] = portable(s, null)
	}
	return list
}
