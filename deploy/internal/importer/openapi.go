package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
)

const (
	classOperation = "openapi"
	// Limits of the schemas that replace the references of an operation.
	maxSchemaDepth = 12
	maxSchemaNodes = 5000
	// maxDangling bounds the references in an error.
	maxDangling = 5
)

// methods are the members of a path item that are operations.
var methods = []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}

// openAPI contains the interpreted members of a document of version 3, and of 2 (Swagger).
type openAPI struct {
	OpenAPI string `json:"openapi"`
	Swagger string `json:"swagger"`
	Info    struct {
		Title   string `json:"title"`
		Version string `json:"version"`
	} `json:"info"`
	Servers []struct {
		URL string `json:"url"`
	} `json:"servers"`
	Schemes  []string          `json:"schemes"`
	Host     string            `json:"host"`
	BasePath string            `json:"basePath"`
	Paths    map[string]object `json:"paths"`
}

// operation contains the interpreted members of an operation.
type operation struct {
	ID          string   `json:"operationId"`
	Summary     string   `json:"summary"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	Deprecated  bool     `json:"deprecated"`
	Parameters  []any    `json:"parameters"`
	RequestBody any      `json:"requestBody"`
}

// readOpenAPI returns the operations of an OpenAPI document as tools.
func readOpenAPI(ctx context.Context, s *source) ([]entry, error) {
	doc, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	var d openAPI
	if err := decode(doc, &d); err != nil {
		return nil, fmt.Errorf("expected an OpenAPI document: %w", err)
	}
	switch {
	case !strings.HasPrefix(d.OpenAPI, "3.") && !strings.HasPrefix(d.Swagger, "2."):
		return nil, fmt.Errorf("openapi: expected version 3 or 2, got %.20q", d.OpenAPI+d.Swagger)
	case d.Info.Title == "":
		return nil, errors.New("info.title: required, and must not be empty")
	}
	var root any
	if err := decode(doc, &root); err != nil {
		return nil, err
	}
	var list []entry
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		item, err := pathItem(root, d.Paths[path])
		if err != nil {
			list = append(list, invalid(d.Info.Title+": "+path, "%w", err))
			continue
		}
		for _, method := range methods {
			if item[method] != nil {
				list = append(list, d.tool(root, path, method, item))
			}
		}
	}
	return list, nil
}

// tool returns the entry of an operation.
func (d openAPI) tool(root any, path, method string, item object) entry {
	location := d.Info.Title + ": " + strings.ToUpper(method) + " " + path
	var o operation
	text, err := followed(root, item[method])
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		return invalid(location, "expected an operation: %w", err)
	}
	var shared []any
	if text := item["parameters"]; text != nil {
		if err := json.Unmarshal(text, &shared); err != nil {
			return invalid(location, "parameters: expected a list: %w", err)
		}
	}
	call := map[string]any{"method": strings.ToUpper(method), "path": path}
	if server := d.server(); server != "" {
		call["server"] = server
	}
	resolve := resolver{root: root}
	if parameters := append(shared, o.Parameters...); len(parameters) > 0 {
		call["parameters"] = resolve.value(parameters, 0)
	}
	if o.RequestBody != nil {
		call["request_body"] = resolve.value(o.RequestBody, 0)
	}
	if definitions := resolve.definitions(); len(definitions) > 0 {
		call["$defs"] = definitions
	}
	if len(resolve.dangling) > 0 {
		return invalid(location, "%s: expected a reference to a part of the document", strings.Join(resolve.dangling, ", "))
	}
	if o.ID != "" {
		call["operation_id"] = o.ID
	}
	status := ""
	if o.Deprecated {
		status = schemas.StatusDeprecated
	}
	return entryOf(location, tool{
		ToolID: classOperation + "." + segment(d.Info.Title) + "." +
			segment(cmp.Or(o.ID, strings.ToUpper(method)+" "+path)),
		ToolClass: classOperation, Provider: d.Info.Title, DisplayName: o.Summary,
		Description: cmp.Or(o.Description, o.Summary),
		Status:      status, versioned: versionOf(d.Info.Version), Capabilities: bounded(o.Tags), OpenAPI: call,
	})
}

// server returns the URL of the first server.
func (d openAPI) server() string {
	if len(d.Servers) > 0 {
		return d.Servers[0].URL
	}
	if d.Host == "" {
		return d.BasePath
	}
	scheme := "https"
	if len(d.Schemes) > 0 && !slices.Contains(d.Schemes, scheme) {
		scheme = d.Schemes[0]
	}
	return scheme + "://" + d.Host + d.BasePath
}

// pathItem returns the path item, merged with the one that its $ref refers to.
func pathItem(root any, item object) (object, error) {
	if item["$ref"] == nil {
		return item, nil
	}
	var merged object
	text, err := json.Marshal(item)
	if err == nil {
		text, err = followed(root, text)
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &merged); err != nil {
		return nil, fmt.Errorf("$ref: expected a path item: %w", err)
	}
	for name, value := range item { // of OpenAPI 3.1, beside the reference
		if name != "$ref" {
			merged[name] = value
		}
	}
	return merged, nil
}

// followed returns the value after resolving at most maxSchemaDepth consecutive $ref.
func followed(root any, value jsontext.Value) (jsontext.Value, error) {
	for range maxSchemaDepth {
		var v struct {
			Ref jsontext.Value `json:"$ref"`
		}
		if value.Kind() != jsontext.KindBeginObject || json.Unmarshal(value, &v) != nil || v.Ref == nil {
			return value, nil
		}
		var ref string
		_ = json.Unmarshal(v.Ref, &ref) // find reports another type
		target := find(root, ref)
		if target == nil {
			return nil, fmt.Errorf("$ref: expected a reference to a part of the document, got %.200s", v.Ref)
		}
		var err error
		if value, err = json.Marshal(target, json.Deterministic(true)); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("$ref: expected at most %d references, one to the next", maxSchemaDepth)
}

// find returns the part of the document that a local reference names; nil: none.
func find(root any, ref string) any {
	pointer, local := strings.CutPrefix(ref, "#/")
	if !local {
		return nil
	}
	target := root
	for name := range jsontext.Pointer("/" + pointer).Tokens() {
		if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
		switch v := target.(type) {
		case map[string]any:
			target = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			target = v[i]
		default:
			return nil
		}
	}
	return target
}

// resolver replaces references within a document with their targets. Recursive references, and those
// beyond its limits, refer to definitions instead; external references are kept.
type resolver struct {
	root  any
	open  []string // references that are being replaced
	nodes int

	names    map[string]string // of the definitions, by reference
	queue    []string          // references whose definitions are missing
	dangling []string          // local references without a target
}

func (r *resolver) value(v any, depth int) any {
	r.nodes++
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = r.value(item, depth)
		}
		return list
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			return r.reference(v, ref, depth)
		}
		members := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) { // in order: the limit applies to the same ones each time
			members[name] = r.value(v[name], depth)
		}
		return members
	}
	return v
}

func (r *resolver) reference(v map[string]any, ref string, depth int) any {
	if !strings.HasPrefix(ref, "#") {
		return v
	}
	target := find(r.root, ref)
	switch {
	case target == nil:
		if !slices.Contains(r.dangling, ref) && len(r.dangling) < maxDangling {
			r.dangling = append(r.dangling, ref)
		}
		return v
	case depth == maxSchemaDepth || r.nodes > maxSchemaNodes || slices.Contains(r.open, ref):
		return map[string]any{"$ref": "#/$defs/" + r.definition(ref)}
	}
	r.open = append(r.open, ref)
	defer func() { r.open = r.open[:len(r.open)-1] }()
	return r.value(target, depth+1)
}

// definition returns the name of the definition of a reference, which definitions adds.
func (r *resolver) definition(ref string) string {
	if name := r.names[ref]; name != "" {
		return name
	}
	if r.names == nil {
		r.names = map[string]string{}
	}
	base := segment(ref[strings.LastIndexByte(ref, '/')+1:])
	name := base
	for n := 2; slices.Contains(slices.Collect(maps.Values(r.names)), name); n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	r.names[ref], r.queue = name, append(r.queue, ref)
	return name
}

// definitions returns the definitions of all references to them. Definitions beyond the limits
// accept any value.
func (r *resolver) definitions() map[string]any {
	values := map[string]any{}
	for len(r.queue) > 0 {
		ref := r.queue[0]
		r.queue = r.queue[1:]
		if r.nodes > 2*maxSchemaNodes {
			values[r.names[ref]] = map[string]any{"$comment": ref + " is omitted: the schemas of the operation are too large"}
			continue
		}
		r.open = []string{ref}
		values[r.names[ref]] = r.value(find(r.root, ref), 0)
	}
	return values
}
