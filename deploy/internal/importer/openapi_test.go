package importer

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestOpenAPI reads documents with members that other tools write.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	const head = "openapi: 3.1.0\ninfo: {title: P, version: '1'}\nservers: [{url: 'https://api'}]\n"
	const body = "  /a: {post: {operationId: o, requestBody: {content: {application/json: {schema: %s}}}}}\n"
	schema := func(text string) string { return head + "paths:\n" + fmt.Sprintf(body, text) }
	long := "/" + strings.Repeat("segment/", 40) + "{id}"
	for _, row := range []struct{ name, text, want string }{
		{"the server of an operation comes before the one of its path", head + "paths:\n  /a:\n" +
			"    servers: [{url: 'https://path'}]\n    get: {operationId: g}\n" +
			"    post: {operationId: p, servers: [{url: 'https://upload'}]}\n",
			`"operation_id":"g","path":"/a","server":"https://path"|"operation_id":"p","path":"/a","server":"https://upload"`},
		{"server variables are kept", strings.Replace(head, "https://api'", "https://{region}', variables: {region: {default: eu}}", 1) +
			"paths: {/a: {get: {}}}\n", `"server":"https://{region}","server_variables":{"region":{"default":"eu"}}`},
		{"a parameter of the operation overrides the one of its path", head + "paths:\n  /a:\n" +
			"    parameters: [{name: n, in: query, description: path}, {name: n, in: header}]\n" +
			"    get: {parameters: [{$ref: '#/components/parameters/n'}, {name: m, in: query}]}\n" +
			"components: {parameters: {n: {name: n, in: query, description: own}}}\n",
			`"parameters":[{"description":"own","in":"query","name":"n"},{"in":"header","name":"n"},{"in":"query","name":"m"}]`},
		{"annotations beside a reference replace those of its target", schema("{$ref: '#/components/schemas/s', description: own, x-a: 1}") +
			"components: {schemas: {s: {type: string, description: target}}}\n",
			`"schema":{"description":"own","type":"string","x-a":1}`},
		{"keywords beside a reference apply too", schema("{$ref: '#/components/schemas/s', minLength: 2}") +
			"components: {schemas: {s: {type: string, maxLength: 9}}}\n",
			`"schema":{"allOf":[{"maxLength":9,"type":"string"}],"minLength":2}`},
		{"a reference to a URL keeps its members", schema("{properties: {a: {$ref: '#/components/schemas/s', title: a}, "+
			"b: {$ref: '#/components/schemas/s', title: b}}}") + "components: {schemas: {s: {$ref: 'https://x/s.json'}}}\n",
			`"a":{"$ref":"https://x/s.json","title":"a"},"b":{"$ref":"https://x/s.json","title":"b"}`},
		{"members beside a reference are ignored before 3.1",
			strings.Replace(schema("{$ref: '#/components/schemas/s', description: own}"), "3.1.0", "3.0.3", 1) +
				"components: {schemas: {s: {type: string}}}\n", `"schema":{"type":"string"}`},
		{"versions without quotes", "swagger: 2.0\ninfo: {title: P, version: 1.0}\npaths: {/a: {get: {}}}\n",
			`tool/openapi.P.GET-a |"source_version":"1.0"`},
		{"versions that are numbers", `{"openapi":3.1,"info":{"title":"P","version":1.10},"paths":{"/a":{"get":{}}}}`,
			`tool/openapi.P.GET-a |"source_version":"1.10"`},
		{"an extension of paths", head + "paths: {x-order: 1, /a: {get: {}}}\n", "tool/openapi.P.GET-a "},
		{"a literal reference in an example", schema("{type: object, example: {$ref: '#/no'}, default: {$ref: '#/no'}, " +
			"examples: [{$ref: '#/no'}], const: {$ref: '#/no'}, x-a: {$ref: '#/no'}}"),
			`"const":{"$ref":"#/no"},"default":{"$ref":"#/no"},"example":{"$ref":"#/no"},"examples":[{"$ref":"#/no"}],|"x-a":{"$ref":"#/no"}`},
		{"a property whose name is a keyword has a reference",
			schema("{properties: {example: {$ref: '#/components/schemas/s'}, $ref: {type: boolean}}}") +
				"components: {schemas: {s: {type: string}}}\n", `"properties":{"$ref":{"type":"boolean"},"example":{"type":"string"}}`},
		{"an anchor", schema("{$ref: '#pet'}") + "components: {schemas: {s: {$anchor: pet, type: string}}}\n",
			`"schema":{"$anchor":"pet","type":"string"}`},
		{"an anchor that is nowhere", schema("{$ref: '#pet'}"), "invalid: #pet: expected a reference to a part of the document"},
		{"methods of 3.2", strings.Replace(head, "3.1.0", "3.2.0", 1) +
			"paths: {/a: {query: {summary: Asks}, additionalOperations: {Copy: {summary: Copies}, LINK: 7}}}\n",
			`tool/openapi.P.QUERY-a |"method":"QUERY"|tool/openapi.P.Copy-a |"method":"Copy"|invalid: expected an operation: expected an object`},
		{"a long path without an operation id", head + "paths: {'" + long + "': {get: {}, put: {}}}\n",
			"tool/openapi.P.GET-segment-segment|tool/openapi.P.PUT-segment|" + `"path":"` + long + `"`},
		{"two paths with one slug", head + "paths: {'/a/{b}': {get: {}}, /a/b: {get: {}}}\n",
			`tool/openapi.P.GET-a-b |tool/openapi.P.GET-a-b-`},
		{"integers beyond 2^53", schema("{type: integer, maximum: 9223372036854775807, minimum: -9007199254740993}"),
			`"schema":{"maximum":9223372036854775807,"minimum":-9007199254740993,"type":"integer"}`},
		{"integers beyond 2^64 in JSON",
			`{"openapi":"3.1.0","info":{"title":"P"},"paths":{"/a":{"get":{"parameters":[{"name":"n","in":"query","schema":{"maximum":36893488147419103232}}]}}}}`,
			`"schema":{"maximum":36893488147419103232}`},
		{"a title with blanks", strings.Replace(head, "title: P", "title: Über API (v2)", 1) +
			"paths: {/a: {get: {operationId: a/b.c}}}\n",
			`tool/openapi.Über-API-v2.a-b-c |"display_name":"Über API (v2): a/b.c"`},
		{"a path item that is a text", head + "paths: {/a: x}\n", "invalid: expected an object"},
		{"a byte order mark", "\uFEFF" + head + "paths: {/a: {get: {}}}\n", "tool/openapi.P.GET-a "},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			check(t, read(t, Options{Source: write(t, t.TempDir(), "openapi.yaml", row.text)}), row.want)
		})
	}
}

// TestOpenAPIFolder reads a document that refers to files.
func TestOpenAPIFolder(t *testing.T) {
	t.Parallel()
	const head = "openapi: 3.1.0\ninfo: {title: P, version: '1'}\npaths:\n"
	const pet = "type: object\nproperties: {parent: {$ref: pet.yml}, tag: {$ref: '../openapi.yaml#/components/schemas/Tag'}}\n"
	const tag = "components: {schemas: {Tag: {type: string}}}\n"
	schema := func(ref string) string {
		return head + "  /a: {post: {operationId: o, requestBody: {content: {application/json: {schema: {$ref: '" + ref + "'}}}}}}\n" + tag
	}
	for _, row := range []struct{ name, text, want string }{
		{"a path item, an operation and a schema", head + "  /a: {$ref: paths/a.yml}\n" + tag,
			`tool/openapi.P.o |"properties":{"parent":{"$ref":"#/$defs/pet-yml"},"tag":{"type":"string"}}|"$defs":{"pet-yml":{`},
		{"a list of parameters", head + "  /a: {get: {operationId: o, parameters: {$ref: models/parameters.yml}}}\n",
			`"parameters":[{"in":"query","name":"n"}]`},
		{"JSON", schema("models/tag.json#/a~1b"), `"schema":{"maximum":9007199254740993}`},
		{"an encoded name", schema("models/with%20blank.yml"), `"schema":{"type":"boolean"}`},
		{"a symbolic link inside", schema("models/inside.yml"), `"schema":{"type":"boolean"}`},
		{"a path item outside of the folder", head + "  /a: {$ref: ../secret.yml}\n",
			"invalid: $ref: expected a reference to a part"},
		{"a symbolic link to a file outside", head + "  /a: {$ref: models/outside.yml}\n", "invalid: $ref: |escapes"},
		{"a symbolic link to a folder outside", head + "  /a: {$ref: models/folder/secret.yml}\n", "invalid: $ref: |escapes"},
		{"an absolute path", head + "  /a: {$ref: /etc/hostname}\n", "invalid: $ref: expected a reference"},
		{"a URL", head + "  /a: {$ref: 'https://127.0.0.1:1/a.yml'}\n", "invalid: $ref: expected a reference"},
		{"a file URL", head + "  /a: {$ref: 'file:///etc/hostname'}\n", "invalid: $ref: expected a reference"},
		{"a directory", head + "  /a: {$ref: models}\n", "invalid: $ref: |expected a regular file"},
		{"malformed YAML", head + "  /a: {$ref: models/malformed.yml}\n", "invalid: $ref: |invalid YAML"},
		{"a file that does not exist", head + "  /a: {$ref: none.yml}\n", "invalid: $ref: |none.yml: no such file"},
		{"a schema outside of the folder is not read", schema("../secret.yml"), `"schema":{"$ref":"../secret.yml"}`},
		{"a part that a file does not have", schema("models/pet.yml#/none"), "invalid: models/pet.yml#/none: expected a reference"},
		{"a schema in a file that does not exist", schema("none.yml#/A"), "invalid: none.yml#/A: expected a reference"},
		{"a parameter outside of the folder",
			head + "  /a: {get: {operationId: o, parameters: [{$ref: '../secret.yml'}]}}\n",
			"invalid: parameters: $ref: expected a reference"},
		{"files that refer to each other", head + "  /a: {$ref: models/cycle.yml}\n",
			"invalid: $ref: expected at most 12 references"},
		{"files that are too large", head + "  /a: {$ref: large.yml}\n", "error: |files and"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			dir := top + "/spec"
			write(t, top, "secret.yml", "get: {summary: SECRET}\n")
			write(t, dir, "paths/a.yml", "summary: Path\nget: {$ref: '../operations.yml#/list'}\n")
			write(t, dir, "operations.yml",
				"list: {operationId: o, requestBody: {content: {application/json: {schema: {$ref: models/pet.yml}}}}}\n")
			write(t, dir, "models/pet.yml", pet)
			write(t, dir, "models/parameters.yml", "- {name: n, in: query}\n")
			write(t, dir, "models/tag.json", `{"a/b":{"maximum":9007199254740993}}`)
			write(t, dir, "models/with blank.yml", "type: boolean\n")
			write(t, dir, "models/malformed.yml", "a: [")
			write(t, dir, "models/cycle.yml", "$ref: cycle.yml\n")
			link(t, "with blank.yml", dir+"/models/inside.yml")
			link(t, "../../secret.yml", dir+"/models/outside.yml")
			link(t, "../..", dir+"/models/folder")
			if strings.Contains(row.text, "large") {
				write(t, dir, "large.yml", "")
				if err := os.Truncate(dir+"/large.yml", maxDocument+1); err != nil {
					t.Fatal(err)
				}
			}
			got := read(t, Options{Source: write(t, dir, "openapi.yaml", row.text)})
			if check(t, got, row.want); strings.Contains(got, "SECRET") {
				t.Errorf("a file outside of the folder was read: %s", got)
			}
		})
	}
}

// TestOpenAPIFiles checks the maximum number of files.
func TestOpenAPIFiles(t *testing.T) {
	t.Parallel()
	var paths strings.Builder
	for i := range maxDocuments {
		fmt.Fprintf(&paths, "  /%d: {$ref: %d.yml}\n", i, i)
	}
	text := "openapi: 3.1.0\ninfo: {title: P, version: '1'}\npaths:\n" + paths.String()
	check(t, read(t, Options{Source: write(t, t.TempDir(), "openapi.yaml", text)}), "error: |expected at most 10000 files")
}
