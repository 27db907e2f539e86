package importer

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

const (
	// Limits of the schemas that replace the references of an operation.
	maxSchemaDepth = 12
	maxSchemaNodes = 5000
	// maxDangling bounds the references in an error.
	maxDangling = 5
)

// resolver replaces references with their targets. Recursive references, and those beyond its limits, refer to
// definitions instead; references to URLs and to files that cannot be read are kept.
type resolver struct {
	*documents
	besides bool     // members beside a reference apply, since OpenAPI 3.1
	open    []string // references that are being replaced
	nodes   int

	names    map[string]string // of the definitions, by file and fragment
	queue    []definition      // whose values are missing
	dangling []string          // references without a target
}

type definition struct {
	key string
	place
}

// literals are the keywords whose values are data, in which $ref is no reference.
var literals = []string{"const", "default", "enum", "example", "value"}

// named are the keywords whose values are objects with names that the author has chosen, no keywords.
var named = []string{"$defs", "content", "definitions", "dependentSchemas", "encoding", "examples", "headers",
	"patternProperties", "properties"}

func (r *resolver) value(p place, depth int) any {
	r.nodes++
	switch v := p.value.(type) {
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = r.value(place{p.file, item}, depth)
		}
		return list
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			return r.reference(p, ref, depth)
		}
		return r.object(p.file, v, depth)
	}
	return p.value
}

// object returns the object with its references replaced, except for its own.
func (r *resolver) object(file string, v map[string]any, depth int) map[string]any {
	members := make(map[string]any, len(v))
	for _, name := range slices.Sorted(maps.Keys(v)) { // in order: the limit applies to the same ones each time
		list, isList := v[name].([]any)
		names, isObject := v[name].(map[string]any)
		switch {
		case name == "$ref":
		case slices.Contains(literals, name), strings.HasPrefix(name, "x-"), name == "examples" && isList && list != nil:
			members[name] = v[name]
		case slices.Contains(named, name) && isObject && !isReference(names):
			r.nodes++
			parts := make(map[string]any, len(names))
			for _, part := range slices.Sorted(maps.Keys(names)) {
				parts[part] = r.value(place{file, names[part]}, depth)
			}
			members[name] = parts
		default:
			members[name] = r.value(place{file, v[name]}, depth)
		}
	}
	return members
}

func isReference(v map[string]any) bool {
	_, ok := v["$ref"].(string)
	return ok
}

func (r *resolver) reference(p place, ref string, depth int) any {
	object := p.value.(map[string]any)
	target, err := r.find(p.file, ref)
	if err != nil {
		dangles := errors.Is(err, errDangling) || errors.Is(err, fs.ErrNotExist)
		if dangles && !slices.Contains(r.dangling, ref) && len(r.dangling) < maxDangling {
			r.dangling = append(r.dangling, ref)
		}
		return maps.Clone(object)
	}
	name, fragment := r.target(p.file, ref)
	key := name + "#" + fragment
	var value any
	if depth == maxSchemaDepth || r.nodes > maxSchemaNodes || slices.Contains(r.open, key) {
		value = map[string]any{"$ref": "#/$defs/" + r.definition(key, target)}
	} else {
		r.open = append(r.open, key)
		value = r.value(target, depth+1)
		r.open = r.open[:len(r.open)-1]
	}
	if !r.besides || len(object) == 1 {
		return value
	}
	return extended(value, r.object(p.file, object, depth))
}

// annotations are the keywords that describe a value. Beside a reference they replace those of its target.
var annotations = []string{"default", "deprecated", "description", "example", "examples", "readOnly", "summary",
	"title", "writeOnly"}

// extended returns a target with the members beside its reference.
func extended(value any, besides map[string]any) any {
	target, ok := value.(map[string]any)
	annotates := func(name string) bool { return slices.Contains(annotations, name) || strings.HasPrefix(name, "x-") }
	for name := range besides {
		ok = ok && annotates(name)
	}
	if ok {
		maps.Copy(target, besides)
		return target
	}
	all, _ := besides["allOf"].([]any)
	besides["allOf"] = append([]any{value}, all...)
	return besides
}

// parameters returns the parameters of a path item and its operation, which overrides those with the same
// name and location.
func (r *resolver) parameters(levels ...place) ([]any, error) {
	var list []any
	index := map[[2]string]int{}
	for _, level := range levels {
		if level.value == nil {
			continue
		}
		parameters, ok := r.value(level, 0).([]any)
		if !ok {
			return nil, errors.New("expected a list")
		}
		for _, value := range parameters {
			parameter, _ := value.(map[string]any)
			if ref, ok := parameter["$ref"].(string); ok && !strings.HasPrefix(ref, "#") {
				return nil, fmt.Errorf("$ref: %w, got %.200q", errExternal, ref)
			}
			name, _ := parameter["name"].(string)
			in, _ := parameter["in"].(string)
			if i, ok := index[[2]string{name, in}]; ok && name != "" {
				list[i] = value
				continue
			}
			index[[2]string{name, in}] = len(list)
			list = append(list, value)
		}
	}
	return list, nil
}

// definition returns the name of the definition of a target, which definitions adds.
func (r *resolver) definition(key string, target place) string {
	if name := r.names[key]; name != "" {
		return name
	}
	if r.names == nil {
		r.names = map[string]string{}
	}
	base := slug(path.Base(strings.TrimSuffix(key, "#")))
	name := base
	for n := 2; slices.Contains(slices.Collect(maps.Values(r.names)), name); n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	r.names[key], r.queue = name, append(r.queue, definition{key, target})
	return name
}

// definitions returns the definitions of all references to them. Definitions beyond the limits
// accept any value.
func (r *resolver) definitions() map[string]any {
	values := map[string]any{}
	for len(r.queue) > 0 {
		d := r.queue[0]
		r.queue = r.queue[1:]
		if r.nodes > 2*maxSchemaNodes {
			values[r.names[d.key]] = map[string]any{
				"$comment": d.key + " is omitted: the schemas of the operation are too large"}
			continue
		}
		r.open = []string{d.key}
		values[r.names[d.key]] = r.value(d.place, 0)
	}
	return values
}
