package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
)

const (
	classOperation = "openapi"
	// Limits of the schemas that references of an operation are replaced by.
	maxSchemaDepth = 12
	maxSchemaNodes = 5000
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
		item := d.Paths[path]
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
	place := d.Info.Title + ": " + strings.ToUpper(method) + " " + path
	var o operation
	if err := json.Unmarshal(item[method], &o); err != nil {
		return invalid(place, "expected an operation: %w", err)
	}
	var shared []any
	if text := item["parameters"]; text != nil {
		if err := json.Unmarshal(text, &shared); err != nil {
			return invalid(place, "parameters: expected a list: %w", err)
		}
	}
	call := map[string]any{"method": strings.ToUpper(method), "path": path}
	if url := d.server(); url != "" {
		call["server"] = url
	}
	resolve := resolver{root: root}
	if parameters := append(shared, o.Parameters...); len(parameters) > 0 {
		call["parameters"] = resolve.value(parameters, 0)
	}
	if o.RequestBody != nil {
		call["request_body"] = resolve.value(o.RequestBody, 0)
	}
	if o.ID != "" {
		call["operation_id"] = o.ID
	}
	status := ""
	if o.Deprecated {
		status = schemas.StatusDeprecated
	}
	return entryOf(place, tool{
		ToolID:    classOperation + "." + segment(d.Info.Title) + "." + segment(cmp.Or(o.ID, strings.ToUpper(method)+" "+path)),
		ToolClass: classOperation, Provider: d.Info.Title, DisplayName: o.Summary, Description: cmp.Or(o.Description, o.Summary),
		Status: status, versioned: versionOf(d.Info.Version), Capabilities: bounded(o.Tags), OpenAPI: call,
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

// resolver replaces references within a document by what they refer to. References that are
// recursive, external or beyond its limits stay.
type resolver struct {
	root  any
	open  []string // references that are being replaced
	nodes int
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
	pointer, local := strings.CutPrefix(ref, "#/")
	if !local || depth == maxSchemaDepth || r.nodes > maxSchemaNodes || slices.Contains(r.open, ref) {
		return v
	}
	target := r.root
	for name := range jsontext.Pointer("/" + pointer).Tokens() {
		members, _ := target.(map[string]any)
		if target = members[name]; target == nil {
			return v
		}
	}
	r.open = append(r.open, ref)
	defer func() { r.open = r.open[:len(r.open)-1] }()
	return r.value(target, depth+1)
}
