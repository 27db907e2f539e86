package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/deploy/internal/flags"
	"cairn/schemas"
)

const classOperation = "openapi"

// methods are the members of a path item that are operations; query is of OpenAPI 3.2.
var methods = []string{"get", "put", "post", "delete", "options", "head", "patch", "trace", "query"}

// openAPI contains the interpreted members of a document of version 3, and of 2 (Swagger).
type openAPI struct {
	OpenAPI versionText `json:"openapi"`
	Swagger versionText `json:"swagger"`
	Info    struct {
		Title   string      `json:"title"`
		Version versionText `json:"version"`
	} `json:"info"`
	Schemes  []string                  `json:"schemes"`
	Host     string                    `json:"host"`
	BasePath string                    `json:"basePath"`
	Paths    map[string]jsontext.Value `json:"paths"`
}

// versionText is a version, which may be a number without quotes.
type versionText string

// UnmarshalJSON implements json.Unmarshaler.
func (v *versionText) UnmarshalJSON(text []byte) error {
	if jsontext.Value(text).Kind() == jsontext.KindNumber {
		*v = versionText(text)
		return nil
	}
	return json.Unmarshal(text, (*string)(v))
}

// operation contains the interpreted members of an operation, except for those with references.
type operation struct {
	ID          string   `json:"operationId"`
	Summary     string   `json:"summary"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	Deprecated  bool     `json:"deprecated"`
}

// readOpenAPI returns the operations of an OpenAPI document as tools.
func readOpenAPI(ctx context.Context, s *source) ([]entry, error) {
	doc, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	r := operations{ids: map[string]string{}}
	if err := decode(doc, &r.openAPI); err != nil {
		return nil, fmt.Errorf("expected an OpenAPI document: %w", err)
	}
	switch {
	case !strings.HasPrefix(string(r.OpenAPI), "3") && !strings.HasPrefix(string(r.Swagger), "2"):
		return nil, flags.Usage(fmt.Errorf("openapi: expected version 3 or 2, got %.20q", r.OpenAPI+r.Swagger))
	case r.Info.Title == "":
		return nil, flags.Usage(errors.New("info.title: required, and must not be empty"))
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	root, err := tree(text)
	if err != nil {
		return nil, err
	}
	r.documents = &documents{main: "openapi", left: maxDocument}
	if s.url == nil {
		if r.root, err = os.OpenRoot(filepath.Dir(s.Source)); err != nil {
			return nil, err
		}
		defer func() { _ = r.root.Close() }() // opened for reading only
		r.main = filepath.Base(s.Source)
	}
	r.files = map[string]*document{r.main: {value: root}}
	r.read(ctx, root)
	return r.list, cmp.Or(r.err, ctx.Err())
}

// operations collects the operations of a document.
type operations struct {
	openAPI
	*documents
	list []entry
	ids  map[string]string // the names of the operations, by the slug
}

// read adds the operations until a limit is exceeded.
func (r *operations) read(ctx context.Context, root any) {
	for _, path := range slices.Sorted(maps.Keys(r.Paths)) {
		if ctx.Err() != nil || r.err != nil || len(r.list) > maxRecords {
			return
		}
		if strings.HasPrefix(path, "x-") {
			continue
		}
		item, err := r.members(place{r.main, root.(map[string]any)["paths"].(map[string]any)[path]})
		if err != nil {
			r.list = append(r.list, invalid(r.Info.Title+": "+path, "%w", err))
			continue
		}
		r.readPath(path, item)
	}
}

// readPath adds the operations of a path item.
func (r *operations) readPath(path string, item map[string]place) {
	for _, name := range methods {
		if item[name].value != nil {
			r.list = append(r.list, r.tool(strings.ToUpper(name)+" "+path, item[name], item))
		}
	}
	additional := item["additionalOperations"] // of OpenAPI 3.2
	list, _ := additional.value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(list)) {
		r.list = append(r.list, r.tool(name+" "+path, place{additional.file, list[name]}, item))
	}
}

// tool returns the entry of an operation of a path item; name is its method and path.
func (r *operations) tool(name string, p place, item map[string]place) entry {
	location := r.Info.Title + ": " + name
	var o operation
	members, err := r.members(p)
	if err == nil {
		values := map[string]any{}
		for _, member := range []string{"operationId", "summary", "description", "tags", "deprecated"} {
			values[member] = members[member].value
		}
		var text []byte
		if text, err = json.Marshal(values); err == nil {
			err = json.Unmarshal(text, &o)
		}
	}
	if err != nil {
		return invalid(location, "expected an operation: %w", err)
	}
	method, path, _ := strings.Cut(name, " ")
	call := map[string]any{"method": method, "path": path}
	r.setServer(call, members["servers"], item["servers"])
	besides := r.OpenAPI != "" && !strings.HasPrefix(string(r.OpenAPI), "3.0")
	resolve := resolver{documents: r.documents, besides: besides}
	parameters, err := resolve.parameters(item["parameters"], members["parameters"])
	if err != nil {
		return invalid(location, "parameters: %w", err)
	}
	if len(parameters) > 0 {
		call["parameters"] = parameters
	}
	if body := members["requestBody"]; body.value != nil {
		call["request_body"] = resolve.value(body, 0)
	}
	if definitions := resolve.definitions(); len(definitions) > 0 {
		call["$defs"] = definitions
	}
	if len(resolve.dangling) > 0 {
		return invalid(location, "%s: %w", strings.Join(resolve.dangling, ", "), errExternal)
	}
	if o.ID != "" {
		call["operation_id"] = o.ID
	}
	status := ""
	if o.Deprecated {
		status = schemas.StatusDeprecated
	}
	return entryOf(location, tool{
		ToolID:    classOperation + "." + slug(r.Info.Title) + "." + r.segment(cmp.Or(o.ID, name)),
		ToolClass: classOperation, Provider: r.Info.Title,
		DisplayName: r.Info.Title + ": " + cmp.Or(o.Summary, o.ID, name),
		Description: cmp.Or(o.Description, o.Summary),
		Status:      status, versioned: versionOf(string(r.Info.Version)), Capabilities: bounded(o.Tags), OpenAPI: call,
	})
}

// segment returns the slug of an operation; one that another operation has ends in a hash.
func (r *operations) segment(name string) string {
	id := slug(name)
	if first, ok := r.ids[id]; ok && first != name {
		return hashed(id, name)
	}
	r.ids[id] = name
	return id
}

// setServer adds the first server of the operation, or else of its path or of the document.
func (r *operations) setServer(call map[string]any, levels ...place) {
	root, _ := r.files[r.main].value.(map[string]any)
	for _, level := range append(levels, place{r.main, root["servers"]}) {
		list, _ := level.value.([]any)
		if len(list) == 0 {
			continue
		}
		server, _ := list[0].(map[string]any)
		if server["url"] != "" {
			call["server"] = server["url"]
		}
		if server["variables"] != nil {
			call["server_variables"] = server["variables"]
		}
		return
	}
	if server := r.address(); server != "" {
		call["server"] = server
	}
}

// address returns the URL of the server of a document of version 2.
func (d openAPI) address() string {
	if d.Host == "" {
		return d.BasePath
	}
	scheme := "https"
	if len(d.Schemes) > 0 && !slices.Contains(d.Schemes, scheme) {
		scheme = d.Schemes[0]
	}
	return scheme + "://" + d.Host + d.BasePath
}
