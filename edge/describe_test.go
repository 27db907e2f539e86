package edge

import (
	"encoding/json"
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
	"cairn/schemas"
)

var describeAll = sync.OnceValues(func() (description, error) { return describe(routes(bus.Analyze), true) })

// described returns the description of the edge, and the decoded OpenAPI document.
func described(t *testing.T) (description, map[string]any) {
	t.Helper()
	d, err := describeAll()
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(d.openAPI, &doc); err != nil {
		t.Fatal(err)
	}
	return d, doc
}

func TestDocumentIsOpenAPI(t *testing.T) {
	t.Parallel()
	_, doc := described(t)
	file, err := os.ReadFile("testdata/openapi-3.1.json")
	if err != nil {
		t.Fatal(err)
	}
	var meta jsonschema.Schema
	if err := json.Unmarshal(file, &meta); err != nil {
		t.Fatal(err)
	}
	resolved, err := meta.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
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
			if reference := "#/components/" + kind + "/" + name; !strings.Contains(string(d.openAPI), `"`+reference+`"`) {
				t.Errorf("no operation references %s", reference)
			}
		}
	}
}

func TestDocumentHasEveryRoute(t *testing.T) {
	t.Parallel()
	_, doc := described(t)
	var want, got []string
	for _, r := range routes(bus.Analyze) {
		want = append(want, r.method+" "+r.path)
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
	_, doc := described(t)
	var follow func(v any)
	follow = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				follow(e)
			}
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok && at(doc, ref) == nil {
				t.Errorf("%s does not resolve", ref)
			}
			for _, e := range v {
				follow(e)
			}
		}
	}
	follow(doc)
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

func TestExamplesAreValid(t *testing.T) {
	t.Parallel()
	used := 0
	for _, r := range routes(bus.Analyze) {
		if !r.takesBody() {
			continue
		}
		used++
		body := []byte(requestExamples[r.path])
		if r.media == mediaLines {
			body = []byte("[" + string(body) + "]")
		}
		if r.inBody != "" {
			body = []byte(`{"kind":"skill","id":"network.find_vlans","` + r.inBody + `":` + string(body) + `}`)
		}
		types := schemas.NewDefinitions("#/$defs/")
		root, err := types.Of(r.request)
		if err != nil {
			t.Fatal(err)
		}
		root.Defs = types.Schemas
		resolved, err := root.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(body, &v); err != nil {
			t.Errorf("%s: %v", r.path, err)
			continue
		}
		if err := resolved.Validate(v); err != nil {
			t.Errorf("%s: the schema refuses the example: %v", r.path, err)
		}
		req := reflect.New(r.request).Interface()
		if err := json.Unmarshal(body, req); err != nil {
			t.Errorf("%s: %v", r.path, err)
		}
		if err := req.(interface{ Validate() error }).Validate(); err != nil {
			t.Errorf("%s: %v", r.path, err)
		}
	}
	if used != len(requestExamples) {
		t.Errorf("%d examples for %d routes", len(requestExamples), used)
	}
}

// TestReplyExamplesAreValid validates the example of every JSON response with the schema of
// the document.
func TestReplyExamplesAreValid(t *testing.T) {
	t.Parallel()
	_, doc := described(t)
	used, properties := map[string]bool{}, map[string]any{} // one schema for all examples, resolved once
	type example struct {
		where string
		value any
	}
	var examples []example
	for _, r := range routes(bus.Analyze) {
		if r.reply == nil || r.status >= 300 || r.status == 204 {
			continue
		}
		op := at(doc, "#/paths").(map[string]any)[r.path].(map[string]any)[strings.ToLower(r.method)].(map[string]any)
		for media, content := range op["responses"].(map[string]any)[strconv.Itoa(r.status)].(map[string]any)["content"].(map[string]any) {
			content := content.(map[string]any)
			if media == mediaEvents {
				continue
			}
			if content["example"] == nil {
				t.Errorf("%s %s: %s has no example", r.method, r.path, media)
				continue
			}
			used[r.reply.Name()] = true
			where := r.method + " " + r.path + " " + media
			properties[where] = content["schema"]
			examples = append(examples, example{where, content["example"]})
		}
	}
	if len(used) != len(replyExamples) {
		t.Errorf("%d of %d examples are used", len(used), len(replyExamples))
	}
	properties["Error"] = map[string]any{"$ref": "#/components/schemas/Error"}
	for _, value := range at(doc, "#/components/schemas/Error").(map[string]any)["examples"].([]any) {
		examples = append(examples, example{"Error", value})
	}
	text, err := json.Marshal(map[string]any{"$defs": at(doc, "#/components/schemas"), "properties": properties})
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), "#/components/schemas/", "#/$defs/")), &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range examples {
		if err := resolved.Validate(map[string]any{e.where: e.value}); err != nil {
			t.Errorf("%s: the schema refuses the example: %v", e.where, err)
		}
	}
}

func TestReferenceHasEveryRoute(t *testing.T) {
	t.Parallel()
	d, _ := described(t)
	page := string(d.reference)
	for _, r := range routes(bus.Analyze) {
		if !strings.Contains(page, `<b>`+r.method+`</b> <code>`+r.path+`</code>`) {
			t.Errorf("%s %s is not in the reference", r.method, r.path)
		}
	}
	for _, e := range schemas.Table() {
		if _, anchor, _ := strings.Cut(e.Type, "#"); !strings.Contains(string(d.index), `<tr id="`+anchor+`">`) {
			t.Errorf("%s does not resolve", e.Type)
		}
	}
	for name, page := range map[string]string{"reference": page, "index": string(d.index)} {
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
	for _, r := range routes(bus.Analyze) {
		responses := at(doc, "#/paths").(map[string]any)[r.path].(map[string]any)[strings.ToLower(r.method)].(map[string]any)["responses"].(map[string]any)
		if responses[strconv.Itoa(r.status)] == nil {
			t.Errorf("%s %s: %d is not documented", r.method, r.path, r.status)
		}
		for _, e := range r.errors {
			if responses[strconv.Itoa(e.Status)] == nil {
				t.Errorf("%s %s: %s is not documented", r.method, r.path, e.Code)
			}
		}
	}
}

// TestDocumentsHaveNoBooleanSchemas checks that both documents have neither the schemas true
// and false nor the empty schema, at which generators of clients stop.
func TestDocumentsHaveNoBooleanSchemas(t *testing.T) {
	t.Parallel()
	_, doc := described(t)
	for name, doc := range map[string]any{"OpenAPI": doc, "AsyncAPI": asyncDescribed(t)} {
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
					at := path + "." + key
					switch key {
					case "example", "examples", "default", "const", "enum":
					case "schema", "payload", "items", "additionalProperties", "propertyNames", "not":
						visitSchema(at, e)
					case "properties", "schemas", "$defs", "patternProperties":
						for property, s := range e.(map[string]any) {
							visitSchema(at+"."+property, s)
						}
					case "anyOf", "oneOf", "allOf":
						for _, s := range e.([]any) {
							visitSchema(at+"[]", s)
						}
					default:
						visit(at, e)
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
