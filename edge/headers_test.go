package edge_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/bus"
	"cairn/edge"
	"cairn/edge/access"
	"cairn/schemas"
)

// openAPI returns the OpenAPI document of the edge.
func (f *testEdge) openAPI(t *testing.T) map[string]any {
	t.Helper()
	var doc map[string]any
	must(t, json.Unmarshal([]byte(f.request(t, "GET", "/openapi.json", nil).body), &doc))
	return doc
}

// TestHeaderSchemasMatchTheServer checks that the schema of each request header accepts the
// values that the server accepts.
func TestHeaderSchemasMatchTheServer(t *testing.T) {
	t.Parallel()
	f := open(t)
	must(t,
		bus.GetRecord.Serve(f.service, func(context.Context, schemas.RecordAt) (schemas.RecordFound, error) {
			return schemas.RecordFound{}, schemas.ErrRecordNotFound
		}),
		bus.DeleteRecord.Serve(f.service, func(context.Context, schemas.DeleteRecord) (schemas.Unregistered, error) {
			return schemas.Unregistered{}, nil
		}),
	)
	parameters := f.openAPI(t)["components"].(map[string]any)["parameters"].(map[string]any)
	const tag = `"ID-7"`
	tags := []string{"*", tag, `W/"x"`, `""`, tag + ", " + tag, tag + "\t,W/" + tag,
		strings.Repeat("\"x\",", 1023) + `"x"`}
	noTags := []string{"", "x", `"`, "**", "*," + tag, tag + ",", "'x'", `"a b"`, `"é"`, `w/"x"`,
		strings.Repeat("\"x\",", 1025) + `"x"`}
	tokens := []string{"0", "7", "ID-7", "a-b-7", strings.Repeat("9", 19), "007", strings.Repeat("x", 126) + "-7"}
	noTokens := []string{"x", "-7", "ID-", "7 8", "7,8", "1.5", "é-7", strings.Repeat("9", 20),
		strings.Repeat("x", 127) + "-7"}
	for _, row := range []struct {
		name, request string
		good, bad     []string
	}{
		{"RequestID", "GET /records/tool/a.b.c", []string{"x", "a-b_c:1/2", strings.Repeat("x", 128)},
			[]string{"", "a b", "é", strings.Repeat("x", 129)}},
		{"MinRevision", "GET /records/tool/a.b.c", tokens, append(noTokens, "")},
		{"IfNoneMatch", "GET /records/tool/a.b.c", tags, noTags},
		{"IfMatch", "DELETE /records/tool/a.b.c", tags, noTags},
		{"LastEventID", "GET /api/v1/analyze/RUN", []string{"", "0", "7", strings.Repeat("9", 16)},
			[]string{"x", "-1", "1.5", strings.Repeat("9", 17)}},
		// A valid revision would open a watch: only its rejections are requested.
		{"LastRevision", "GET /watch", nil, noTokens},
	} {
		parameter := parameters[row.name].(map[string]any)
		text, err := json.Marshal(parameter["schema"])
		must(t, err)
		var schema jsonschema.Schema
		must(t, json.Unmarshal(text, &schema))
		if schema.MinLength == nil || schema.MaxLength == nil || schema.Pattern == "" {
			t.Errorf("%s has no bounds: %s", row.name, text)
		}
		resolved, err := schema.Resolve(nil)
		must(t, err)
		method, path, _ := strings.Cut(row.request, " ")
		name := parameter["name"].(string)
		check := func(value string, valid bool) {
			if err := resolved.Validate(value); (err == nil) != valid {
				t.Errorf("the schema of %s and %.40q: %v", name, value, err)
			}
			got := f.request(t, method, path, nil, name+": "+value)
			if (got.status != http.StatusBadRequest) != valid {
				t.Errorf("the server with %s: %.40q: %d %s", name, value, got.status, got.body)
			}
		}
		for _, value := range row.good {
			check(value, true)
		}
		for _, value := range row.bad {
			check(value, false)
		}
	}
}

func TestResponseHeadersAreBounded(t *testing.T) {
	t.Parallel()
	for name, header := range open(t).openAPI(t)["components"].(map[string]any)["headers"].(map[string]any) {
		schema := header.(map[string]any)["schema"].(map[string]any)
		text := schema["minLength"] != nil && schema["maxLength"] != nil && schema["pattern"] != nil
		number := schema["minimum"] != nil && schema["maximum"] != nil
		if !text && !number {
			t.Errorf("%s has no bounds: %v", name, schema)
		}
	}
}

// TestDocumentFollowsAuthentication checks the security of the document with and without
// authentication.
func TestDocumentFollowsAuthentication(t *testing.T) {
	t.Parallel()
	operations := func(doc map[string]any, visit func(name string, op map[string]any)) {
		for path, item := range doc["paths"].(map[string]any) {
			for method, op := range item.(map[string]any) {
				visit(method+" "+path, op.(map[string]any))
			}
		}
	}
	schemes := func(doc map[string]any) any { return doc["components"].(map[string]any)["securitySchemes"] }

	off := open(t).openAPI(t)
	if list := off["security"].([]any); len(list) != 0 || schemes(off) != nil {
		t.Errorf("without authentication: security %v, schemes %v", list, schemes(off))
	}
	operations(off, func(name string, op map[string]any) {
		if op["responses"].(map[string]any)["401"] != nil || op["x-permission"] != nil {
			t.Errorf("without authentication: %s has 401 or a permission", name)
		}
	})

	on := open(t, func(c *edge.Config) { c.Access = access.Config{Keys: true} }).openAPI(t)
	if scheme, _ := schemes(on).(map[string]any); len(on["security"].([]any)) != 1 || scheme["bearer"] == nil {
		t.Errorf("with keys: security %v, schemes %v", on["security"], schemes(on))
	}
	opened, guarded := 0, 0
	operations(on, func(name string, op map[string]any) {
		if security, given := op["security"]; given {
			opened++
			if len(security.([]any)) != 0 {
				t.Errorf("with keys: %s has the security %v", name, security)
			}
			return
		}
		guarded++
		if op["x-permission"] == "" || op["responses"].(map[string]any)["401"] == nil {
			t.Errorf("with keys: %s has no permission or no 401", name)
		}
	})
	if opened == 0 || guarded == 0 {
		t.Errorf("%d open and %d guarded operations", opened, guarded)
	}
	if on["paths"].(map[string]any)["/openapi.json"].(map[string]any)["get"].(map[string]any)["security"] == nil {
		t.Error("with keys: /openapi.json is not open")
	}
}
