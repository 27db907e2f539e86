package edge

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/bus"
	"cairn/edge/describe"
	"cairn/schemas"
)

var (
	allRoutes   = sync.OnceValue(func() []route { return routes(&edge{analysis: bus.Analyze}) })
	describeAll = sync.OnceValues(func() (describe.Description, error) { return describe.New(specs(allRoutes()), true) })
)

// described returns the description of the edge, and the decoded OpenAPI document.
func described(t *testing.T) (describe.Description, map[string]any) {
	t.Helper()
	d, err := describeAll()
	must(t, err)
	return d, decoded(t, d.OpenAPI)
}

func decoded(t *testing.T, text []byte) (doc map[string]any) {
	t.Helper()
	must(t, json.Unmarshal(text, &doc))
	return doc
}

func TestDocumentIsOpenAPI(t *testing.T) {
	t.Parallel()
	_, doc := described(t)
	file, err := os.ReadFile("testdata/openapi-3.1.json")
	must(t, err)
	var meta jsonschema.Schema
	must(t, json.Unmarshal(file, &meta))
	resolved, err := meta.Resolve(nil)
	must(t, err)
	if err := resolved.Validate(doc); err != nil {
		t.Error(err)
	}
	delete(doc, "info")
	if resolved.Validate(doc) == nil {
		t.Error("an invalid document is accepted: nothing is checked")
	}
}

func TestComponentsAreReferenced(t *testing.T) {
	t.Parallel()
	d, doc := described(t)
	for _, kind := range []string{"headers", "parameters", "responses"} {
		for name := range doc["components"].(map[string]any)[kind].(map[string]any) {
			if reference := "#/components/" + kind + "/" + name; !strings.Contains(string(d.OpenAPI), `"`+reference+`"`) {
				t.Errorf("no operation references %s", reference)
			}
		}
	}
}

func TestDocumentHasEveryRoute(t *testing.T) {
	t.Parallel()
	_, doc := described(t)
	var want, got []string
	for _, r := range allRoutes() {
		want = append(want, r.Method+" "+r.Path)
	}
	names := map[string]bool{}
	for path, item := range doc["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			got = append(got, strings.ToUpper(method)+" "+path)
			names[op.(map[string]any)["operationId"].(string)] = true
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("routes %v\ndocument %v", want, got)
	}
	if len(names) != len(got) {
		t.Errorf("%d operations have %d distinct ids", len(got), len(names))
	}
}

func TestReferencesResolve(t *testing.T) {
	t.Parallel()
	d, openAPI := described(t)
	for _, doc := range []map[string]any{openAPI, decoded(t, d.AsyncAPI)} {
		references := 0
		var follow func(v any)
		follow = func(v any) {
			switch v := v.(type) {
			case []any:
				for _, e := range v {
					follow(e)
				}
			case map[string]any:
				if ref, ok := v["$ref"].(string); ok {
					references++
					if at(doc, ref) == nil {
						t.Errorf("%s does not resolve", ref)
					}
				}
				for _, e := range v {
					follow(e)
				}
			}
		}
		if follow(doc); references == 0 {
			t.Error("the document has no references")
		}
	}
}

// at returns the value that the reference points to.
func at(doc map[string]any, ref string) any {
	var v any = doc
	for _, step := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
		m, _ := v.(map[string]any)
		v = m[step]
	}
	return v
}

// operationOf returns the operation of the route.
func operationOf(doc map[string]any, r route) map[string]any {
	path := doc["paths"].(map[string]any)[r.Path].(map[string]any)
	return path[strings.ToLower(r.Method)].(map[string]any)
}

func TestExamplesAreValid(t *testing.T) {
	t.Parallel()
	_, doc := described(t)
	for _, r := range allRoutes() {
		if !r.TakesBody() {
			continue
		}
		op := operationOf(doc, r)
		content := op["requestBody"].(map[string]any)["content"].(map[string]any)[cmp.Or(r.Media, "application/json")]
		body, err := json.Marshal(content.(map[string]any)["example"])
		must(t, err)
		if r.Media == describe.MediaLines {
			body = []byte("[" + string(body) + "]")
		}
		if r.BodyMember != "" {
			body = []byte(`{"kind":"skill","id":"network.find_vlans","name":"production","` + r.BodyMember + `":` + string(body) + `}`)
		}
		types := schemas.NewDefinitions("#/$defs/")
		root, err := types.Of(r.Request)
		must(t, err)
		root.Defs = types.Schemas
		resolved, err := root.Resolve(nil)
		must(t, err)
		var v any
		if err := json.Unmarshal(body, &v); err != nil {
			t.Errorf("%s: %v", r.Path, err)
			continue
		}
		if err := resolved.Validate(v); err != nil {
			t.Errorf("%s: the schema refuses the example: %v", r.Path, err)
		}
		req := reflect.New(r.Request).Interface()
		if err := json.Unmarshal(body, req); err != nil {
			t.Errorf("%s: %v", r.Path, err)
		}
		if err := schemas.Validate(req, schemas.ErrMalformed); err != nil {
			t.Errorf("%s: %v", r.Path, err)
		}
	}
}

// TestReplyExamplesAreValid validates the example of every JSON response with the schema of
// the document.
func TestReplyExamplesAreValid(t *testing.T) {
	t.Parallel()
	_, doc := described(t)
	properties := map[string]any{} // one schema for all examples, resolved once
	type example struct {
		where string
		value any
	}
	var examples []example
	for _, r := range allRoutes() {
		if r.Reply == nil || r.Status >= 300 || r.Status == 204 {
			continue
		}
		op := operationOf(doc, r)
		for media, content := range op["responses"].(map[string]any)[strconv.Itoa(r.Status)].(map[string]any)["content"].(map[string]any) {
			content := content.(map[string]any)
			if media == describe.MediaEvents {
				continue
			}
			if content["example"] == nil {
				t.Errorf("%s %s: %s has no example", r.Method, r.Path, media)
				continue
			}
			where := r.Method + " " + r.Path + " " + media
			properties[where] = content["schema"]
			examples = append(examples, example{where, content["example"]})
		}
	}
	properties["Error"] = map[string]any{"$ref": "#/components/schemas/Error"}
	for _, value := range at(doc, "#/components/schemas/Error").(map[string]any)["examples"].([]any) {
		examples = append(examples, example{"Error", value})
	}
	text, err := json.Marshal(map[string]any{"$defs": at(doc, "#/components/schemas"), "properties": properties})
	must(t, err)
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), "#/components/schemas/", "#/$defs/")),
		&s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	must(t, err)
	for _, e := range examples {
		if err := resolved.Validate(map[string]any{e.where: e.value}); err != nil {
			t.Errorf("%s: the schema refuses the example: %v", e.where, err)
		}
	}
}

func TestReferenceHasEveryRoute(t *testing.T) {
	t.Parallel()
	d, _ := described(t)
	page := string(d.Reference)
	for _, r := range allRoutes() {
		if !strings.Contains(page, `<b>`+r.Method+`</b> <code>`+r.Path+`</code>`) {
			t.Errorf("%s %s is not in the reference", r.Method, r.Path)
		}
	}
	for _, e := range schemas.Table() {
		if _, anchor, _ := strings.Cut(e.Type, "#"); !strings.Contains(string(d.Index), `<tr id="`+anchor+`">`) {
			t.Errorf("%s does not resolve", e.Type)
		}
	}
	for name, page := range map[string]string{"reference": page, "index": string(d.Index)} {
		for _, link := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			anchor, local := strings.CutPrefix(link[1], "#")
			if local && !strings.Contains(page, `id="`+anchor+`"`) {
				t.Errorf("%s: the link %s does not resolve", name, link[1])
			}
			if !local && link[1] != "/openapi.json" && !strings.HasPrefix(link[1], "/docs") {
				t.Errorf("%s links to %s", name, link[1])
			}
		}
		for _, external := range []string{"src=", "@import", "url(", "<script", "ZgotmplZ"} {
			if strings.Contains(page, external) {
				t.Errorf("%s contains %q", name, external)
			}
		}
	}
}

func TestEveryRouteDocumentsItsResponses(t *testing.T) {
	t.Parallel()
	_, doc := described(t)
	for _, r := range allRoutes() {
		responses := operationOf(doc, r)["responses"].(map[string]any)
		if responses[strconv.Itoa(r.Status)] == nil {
			t.Errorf("%s %s: %d is not documented", r.Method, r.Path, r.Status)
		}
		for _, e := range r.Errors {
			if responses[strconv.Itoa(e.Status)] == nil {
				t.Errorf("%s %s: %s is not documented", r.Method, r.Path, e.Code)
			}
		}
	}
}

// TestDocumentsHaveNoBooleanSchemas checks that both documents have neither the schemas true
// and false nor the empty schema, at which generators of clients stop.
func TestDocumentsHaveNoBooleanSchemas(t *testing.T) {
	t.Parallel()
	d, doc := described(t)
	for name, doc := range map[string]any{"OpenAPI": doc, "AsyncAPI": decoded(t, d.AsyncAPI)} {
		schemas := 0
		var visit func(path string, v any)
		visitSchema := func(path string, v any) {
			schemas++
			if s, ok := v.(map[string]any); !ok || len(s) == 0 {
				t.Errorf("%s: the schema %s is %v", name, path, v)
			}
			visit(path, v)
		}
		visit = func(path string, v any) {
			switch v := v.(type) {
			case []any:
				for _, e := range v {
					visit(path+"[]", e)
				}
			case map[string]any:
				for key, e := range v {
					location := path + "." + key
					switch key {
					case "example", "examples", "default", "const", "enum":
					case "schema", "payload", "items", "additionalProperties", "propertyNames", "not":
						visitSchema(location, e)
					case "properties", "schemas", "$defs", "patternProperties":
						for property, s := range e.(map[string]any) {
							visitSchema(location+"."+property, s)
						}
					case "anyOf", "oneOf", "allOf":
						for _, s := range e.([]any) {
							visitSchema(location+"[]", s)
						}
					default:
						visit(location, e)
					}
				}
			}
		}
		visit("", doc)
		if schemas < 100 {
			t.Errorf("%s: %d schemas were visited", name, schemas)
		}
	}
}

// must fails the test on an error of its setup.
func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
