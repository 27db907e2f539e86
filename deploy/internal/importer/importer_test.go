package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/deploy/internal/flags"
	"cairn/schemas"
)

// write writes a file below dir.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// read returns the records of a source as lines: the id and the record, or the error.
func read(t *testing.T, o Options) string {
	t.Helper()
	o.Read = func(int) {}
	result, err := Read(t.Context(), o, "")
	if err != nil {
		return "error: " + err.Error()
	}
	lines := result.Format + "\n"
	for _, r := range result.Records {
		if err := r.Validate(); err != nil {
			lines += "invalid: " + err.Error() + "\n"
			continue
		}
		lines += r.Kind + "/" + r.ID + " " + string(r.JSON) + "\n"
		for _, w := range r.Warnings {
			lines += "warning: " + w.Field + ": " + w.Message + "\n"
		}
	}
	return lines + strings.Join(result.Omitted, "\n")
}

// check checks that got contains the parts of want, separated by |.
func check(t *testing.T, got, want string) {
	t.Helper()
	for part := range strings.SplitSeq(want, "|") {
		if !strings.Contains(got, part) {
			t.Errorf("got  %s\nwant %s", got, part)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"io.github.user/weather": "io.github.user.weather", "com.x/a.b": "com.x.a%2Eb",
		"Weather Server": "mcp.Weather%20Server",
		"a..b/c":         "a..b.c", "x/@server%": "x.%40server%25", "wetter_ä-1": "mcp.wetter_ä-1",
	} {
		if got := serverID(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	for _, name := range []string{"get.forecast", "a/b c", "100%", "網", "%2E", ".", "\x00\n"} {
		if back, err := url.PathUnescape(segment(name)); err != nil || back != name ||
			strings.ContainsAny(segment(name), ". \n") {
			t.Errorf("%q: %q, back %q, %v", name, segment(name), back, err)
		}
	}
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	const card = `{"name":"Weather Agent","description":"Forecasts","version":"1.2.0","skills":[{"id":"f","name":"Forecast","description":"Says what comes","examples":["rain?"]}],`
	const pets = "openapi: 3.1.0\ninfo: {title: Pet Store, version: '1'}\nservers: [{url: 'https://pets.example.com'}]\npaths:\n"
	const server = `{"name":"io.example/weather","description":"Forecasts","version":"1.0.0","remotes":[{"type":"sse","url":"https://x"}]}`
	for _, row := range []struct{ name, text, want string }{
		{"server.json", server,
			`server-json|tool/io.example.weather.@server |"tool_class":"mcp_server"|"provider":"io.example/weather"|"version":"1.0.0"|"remotes"|,"source":"`},
		{"a server without a namespace", `{"name":"weather","description":"d","version":"1","packages":[]}`,
			"invalid: name: expected NAMESPACE/NAME"},
		{"a server with a range", strings.Replace(server, "1.0.0", "^1.0.0", 1),
			`invalid: version: expected a version and no range, got "^1.0.0"`},
		{"a server of the first version of the format", strings.Replace(server, `"version":"1.0.0"`,
			`"version_detail":{"version":"0.0.1-seed"}`, 1), `server-json|tool/io.example.weather.@server |"version":"0.0.1-seed"`},
		{"a server without a description", strings.Replace(server, "Forecasts", "", 1), "invalid: description: required"},
		{"a remote without a URL", strings.Replace(server, `"url"`, `"uri"`, 1), "invalid: remotes[0].url: required"},
		{"a package without an identifier", strings.Replace(server, "{", `{"packages":[{}],`, 1),
			"invalid: packages[0].identifier: required"},
		{"members of other types", strings.Replace(server, `"Forecasts"`, `["x"]`, 1), "invalid: expected a server.json"},
		{"a list of servers", `{"servers":[{"server":` + server + `},{"server":{"name":"x"}},{"server":` +
			strings.Replace(server, "1.0.0",
				"0.9.0", 1) +
			`,"_meta":{"io.modelcontextprotocol.registry/official":{"isLatest":false}}},7]}`,
			"error: |expected a list of servers"},
		{"a list with an invalid server", `{"servers":[{"server":` + server + `},{"server":{"name":"x"}}]}`,
			`mcp-registry|tool/io.example.weather.@server|invalid: name`},
		{"older versions are skipped",
			`{"servers":[{"server":` + server + `},{"server":` + strings.Replace(server, "1.0.0", "0.9.0", 1) +
				`,"_meta":{"io.modelcontextprotocol.registry/official":{"isLatest":false}}}]}`, `"version":"1.0.0"`},
		{"a deprecated server",
			`{"servers":[{"server":` + server +
				`,"_meta":{"io.modelcontextprotocol.registry/official":{"status":"deprecated"}}}]}`,
			`"status":"deprecated"`},
		{"an empty registry", `{"servers":[]}`, "error: |no records in the format mcp-registry"},
		{"an agent card", card + `"supportedInterfaces":[{"url":"https://a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`,
			`agent-card|agent/a2a.Weather%20Agent |"capabilities":["Forecast"]|"example_queries":["rain?"]|"version":"1.2.0"|"agent_card":{`},
		{"a card of version 0.3", card + `"url":"https://a"}`, "agent/a2a.Weather%20Agent"},
		{"a card without an interface", card + `"supportedInterfaces":[]}`, "invalid: supportedInterfaces: required"},
		{"a card whose interface has no URL",
			card + `"supportedInterfaces":[{"protocolBinding":"GRPC","protocolVersion":"1.0"}]}`,
			"invalid: supportedInterfaces[0].url: required"},
		{"a card whose skill has no id", strings.Replace(card, `"id":"f",`, "", 1) + `"url":"https://a"}`,
			"invalid: skills[0].id: required"},
		{"a card without a version", strings.Replace(card, "1.2.0", "", 1) + `"url":"https://a"}`,
			"invalid: version: required"},
		{"a list of agent cards", "[" + card + `"url":"https://a"},` + strings.Replace(card, "Weather Agent", "Other", 1) +
			`"url":"https://b"},{"name":"Broken","skills":[],"url":"https://c"}]`,
			"agent-card|agent/a2a.Weather%20Agent |agent/a2a.Other |invalid: description: required"},
		{"a list that begins with an agent card and has other things", "[" + card + `"url":"https://a"},7]`,
			"error: |expected a list of servers"},
		{"an OpenAPI document", pets + `  /pets/{id}:
    parameters: [{$ref: '#/components/parameters/id'}]
    get:
      operationId: pets.get
      summary: Get a pet
      deprecated: true
      responses: {200: {description: ok}}
    put:
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}
components:
  parameters: {id: {name: id, in: path, schema: {type: string}}}
  schemas: {Pet: {properties: {parent: {$ref: '#/components/schemas/Pet'}, other: {$ref: '../x.json'}}}}
`, `openapi|tool/openapi.Pet-Store.pets-get |tool/openapi.Pet-Store.PUT-pets-id |"display_name":"Pet Store: Get a pet"|"status":"deprecated"` +
			`|"parameters":[{"in":"path","name":"id","schema":{"type":"string"}}]|"server":"https://pets.example.com"|"source_version":"1"` +
			`|{"schema":{"properties":{"other":{"$ref":"../x.json"},"parent":{"$ref":"#/$defs/Pet"}}}}` +
			`|"$defs":{"Pet":{"properties":{"other":{"$ref":"../x.json"},"parent":{"$ref":"#/$defs/Pet"}}}}`},
		{"a reference to nothing",
			pets + "  /a: {post: {requestBody: {content: {application/json: {schema: {$ref: '#/components/none'}}}}}}\n",
			"invalid: #/components/none: expected a reference to a part of the document"},
		{"a path item elsewhere",
			pets + "  /a: {$ref: '#/components/pathItems/a', summary: s}\n  /b: {$ref: '#/paths/~1a'}\n" +
				"components: {pathItems: {a: {get: {$ref: '#/components/x'}}}, x: {operationId: o, summary: Gets it}}\n",
			"invalid: |have the same id, openapi.Pet-Store.o"},
		{"an operation elsewhere",
			pets + "  /a: {get: {$ref: '#/components/x'}}\ncomponents: {x: {operationId: o, summary: Gets it}}\n",
			`tool/openapi.Pet-Store.o |"description":"Gets it"`},
		{"a path item that is nowhere", pets + "  /a: {$ref: 'other.yaml#/a'}\n",
			"invalid: $ref: expected a reference to a part"},
		{"an operation that is nowhere", pets + "  /a: {get: {$ref: '#/no'}}\n",
			"invalid: expected an operation: $ref: expected a reference"},
		{"a path item that refers to itself", pets + "  /a: {$ref: '#/paths/~1a'}\n",
			"invalid: $ref: expected at most 12 references"},
		{"Swagger 2", `{"swagger":"2.0","info":{"title":"P","version":"1.0.0"},"host":"h","basePath":"/v","paths":{"/a":{"get":{}}}}`,
			`tool/openapi.P.GET-a |"server":"https://h/v"`},
		{"two operations with one id", pets + "  /a: {get: {operationId: x}, put: {operationId: x}}\n",
			"invalid: |have the same id, openapi.Pet-Store.x"},
		{"an unknown version", strings.Replace(pets, "3.1.0", "4.0.0", 1),
			"error: |openapi: expected version 3 or 2, got \"4.0.0\""},
		{"no title", `{"openapi":"3.1.0","paths":{}}`, "error: |info.title: required"},
		{"no operations", `{"openapi":"3.1.0","info":{"title":"x"},"paths":{}}`, "error: |no records in the format openapi"},
		{"an invalid operation", pets + "  /a: {get: 7}\n", "invalid: expected an operation"},
		{"invalid parameters", pets + "  /a: {parameters: 7, get: {}}\n", "invalid: parameters: expected a list"},
		{"invalid paths", pets + "  - a\n", "error: |expected an OpenAPI document: paths: expected an object, got an array"},
		{"an unknown document", `{"a":1}`, "error: |unknown format"},
		{"an empty file", "", "error: |got an empty text"},
		{"a list of other things", `[1]`, "error: |expected a list of servers"},
		{"a list of server.json documents", "[" + server + "]", "mcp-registry|tool/io.example.weather.@server"},
		{"malformed JSON", `{"a"`, "error: |expected one JSON or YAML object"},
		{"several YAML documents", "a: 1\n---\nb: 1\n", "error: |got several YAML documents"},
		{"aliases that expand", "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n" +
			"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f]\n", "error: |excessive aliasing"},
		{"a document that is too large", strings.Repeat(" ", maxDocument+1), "error: |expected a document of at most"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			check(t, read(t, Options{Source: write(t, t.TempDir(), "document", row.text)}), row.want)
		})
	}
	if got := read(t, Options{Source: t.TempDir() + "/none"}); !strings.Contains(got, "no such file") {
		t.Error(got)
	}
	if got := read(t, Options{Source: "/dev/null"}); !strings.Contains(got, "expected a regular file") {
		t.Error(got)
	}
}

func TestSkills(t *testing.T) {
	t.Parallel()
	const head = "---\nname: pdf-forms\ndescription: Fill PDF forms.\n"
	for _, row := range []struct {
		name, text string
		strict     bool
		want       string
	}{
		{"a skill", head + "license: MIT\ncompatibility: Python\nallowed-tools: Read Bash\nmetadata:\n  version: 1.0.0\n  author: me\n---\n\n# Steps\n", true,
			`skill/docs.pdf-forms |"instructions":"# Steps"|"license":"MIT"|"version":"1.0.0"|"metadata":{"author":"me"}|"allowed_tools":"Read Bash"` +
				`|"resources":[{"path":"data.bin","data":"AP8="},{"path":"scripts/run.py","text":"print()"}],"source":`},
		{"Windows line breaks", strings.ReplaceAll(head+"---\nBody", "\n", "\r\n"), true, `"instructions":"Body"`},
		{"no body", head + "---", true, "skill/docs.pdf-forms"},
		{"numbers are texts", head + "metadata:\n  version: 1.0\n---\n", true, `"source_version":"1.0"`},
		{"a description with ---", "---\nname: pdf-forms\ndescription: a --- b\n---\n", true, `"description":"a --- b"`},
		{"a skill that a Cairn has rendered", strings.Replace(head, "pdf-forms",
			"pdf-forms", 1) + "metadata:\n  skill_id: pdf.forms\n  labels: team=a\n---\n", true,
			`skill/pdf.forms |"labels":{"team":"a"}`},
		{"the id of another skill", head + "metadata:\n  skill_id: net.other\n---\n", true,
			`skill/docs.pdf-forms |"metadata":{"skill_id":"net.other"}`},
		{"no frontmatter", "# Steps", true, "invalid: expected YAML frontmatter"},
		{"an open frontmatter", head, false, "invalid: expected YAML frontmatter"},
		{"invalid YAML", "---\na: >\nb\n---\n", true, "invalid: frontmatter: "},
		{"a list", "---\n- a\n---\n", true, "invalid: frontmatter: expected a YAML mapping"},
		{"an empty frontmatter", "---\n\n---\n", true, "invalid: frontmatter: expected a YAML mapping"},
		{"no name", "---\ndescription: x\n---\n", false, "invalid: name: required"},
		{"no description", "---\nname: pdf-forms\n---\n", false, "invalid: description: required"},
		{"a name that is a list", "---\nname: [a]\ndescription: x\n---\n", false, "invalid: name: expected a string"},
		{"a field twice", head + "name: b\n---\n", false, "invalid: frontmatter: name appears twice"},
		{"another name than the directory", strings.Replace(head, "pdf-forms", "pdf", 1) + "---\n", true,
			`invalid: name: expected the name of the directory, got "pdf" in "pdf-forms"`},
		{"another name than the directory gives a warning", strings.Replace(head, "pdf-forms", "pdf", 1) + "---\n", false,
			"skill/docs.pdf |warning: name: expected the name of the directory, got"},
		{"a long description gives a warning", "---\nname: pdf-forms\ndescription: " + strings.Repeat("ä", 1025) + "\n---\n",
			false, "skill/docs.pdf-forms |warning: description: expected at most 1024 characters, got 1025"},
		{"a description with an unquoted colon", "---\nname: pdf-forms\ndescription: It's for PDF: use when: \"x\"\n---\n",
			false, `"description":"It's for PDF: use when: \"x\""|; description kept as text; quote it`},
		{"an unquoted colon in a further line", "---\ndescription: Fills\n  forms: and\n\n  lists\nname: pdf-forms\n---\n",
			false, `"description":"Fills forms: and\nlists"`},
		{"a description that begins with asterisks", "---\nname: pdf-forms\ndescription: **Fills** forms\n---\n", false,
			`"description":"**Fills** forms"`},
		{"an unquoted colon is an error with strict", "---\nname: pdf-forms\ndescription: a: b\n---\n", true,
			"invalid: frontmatter: expected valid YAML, got yaml: line 3"},
		{"tabs in folded text", "---\nname: pdf-forms\ndescription: >\n\tFills\n\tforms\n---\n", false,
			`"description":"Fills forms"`},
		{"a byte order mark", "\uFEFF" + head + "---\nBody", true, `skill/docs.pdf-forms |"instructions":"Body"`},
		{"blanks after the delimiters", strings.Replace(head, "---", "--- ", 1) + "---\t\nBody", true,
			`skill/docs.pdf-forms |"instructions":"Body"`},
		{"tags, anchors and aliases", "---\nname: &n pdf-forms\ndescription: !!str Fills\nlicense: *n\n---\n", false,
			`"license":"pdf-forms"|warning: frontmatter: expected block style without anchors and tags, got another in line 2`},
		{"flow lists", head + "allowed-tools: [Read, Bash]\n---\n", false,
			`"allowed_tools":"Read Bash"|warning: frontmatter`},
		{"unknown fields are metadata", head + "model: x\ntags:\n- a\nversion: 1.2.0\nmetadata:\n  model: y\n  more:\n    a: 1\n---\n",
			false, `"version":"1.2.0"|"metadata":{"model":"y","more":"{\"a\":1}","tags":"[\"a\"]"}` +
				`|warning: frontmatter: expected name, |only, got model, tags, version`},
		{"metadata that is a list", head + "metadata: [a]\n---\n", false, `"metadata":{"metadata":"[\"a\"]"}`},
		{"empty metadata", head + "metadata:\n---\n", true, "skill/docs.pdf-forms"},
		{"compatibility that is a list", head + "compatibility: [a]\n---\n", false,
			`"compatibility":"[\"a\"]"|warning: compatibility: expected a string`},
		{"aliases that multiply a text", head + "a: &a " + strings.Repeat("x", 1000) + "\nb: [" +
			strings.Repeat("*a,", 5000) + "]\n---\n", false, "invalid: b: "},
		{"aliases of fields that multiply a text", head + "a: &a " + strings.Repeat("x", 100_000) + "\nmetadata:\n" +
			manyAliases(100) + "---\n", false, "invalid: metadata: expected at most 1572864 bytes"},
		{"an alias to itself", head + "a: &a [*a]\n---\n", false, "invalid: a: "},
		{"a binary file", "---\nname: a\x00\n---\n", false,
			"invalid: frontmatter: expected valid YAML, got yaml: control characters"},
		{"upper case", strings.Replace(head, "pdf-forms", "PDF-Forms", 1) + "---\n", true,
			"invalid: name: expected lower case"},
		{"two hyphens", strings.Replace(head, "pdf-forms", "pdf--forms", 1) + "---\n", true,
			"invalid: name: expected single hyphens"},
		{"other characters", strings.Replace(head, "pdf-forms", "pdf.forms", 1) + "---\n", true,
			"invalid: name: expected letters"},
		{"a long name", strings.Replace(head, "pdf-forms", strings.Repeat("a", 65), 1) + "---\n", true,
			"invalid: name: expected at most 64"},
		{"a long compatibility", head + "compatibility: " + strings.Repeat("x", 501) + "\n---\n", true,
			"invalid: compatibility: expected at most 500"},
		{"invalid UTF-8", head + "---\n\xff", true, "invalid: expected UTF-8"},
		{"a large file", head + "---\n" + strings.Repeat("x", maxSkillFile), true, "expected at most 524288 bytes"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "set/pdf-forms/SKILL.md", row.text)
			write(t, dir, "set/pdf-forms/scripts/run.py", "print()")
			write(t, dir, "set/pdf-forms/data.bin", "\x00\xff")
			write(t, dir, "set/pdf-forms/.env", "SECRET")
			write(t, dir, "set/pdf-forms/.git/config", "x")
			write(t, dir, ".hidden/x/SKILL.md", "x")
			got := read(t, Options{Source: dir, Domain: "docs", Strict: row.strict})
			check(t, got, row.want)
			if strings.Contains(got, "SECRET") {
				t.Errorf("a hidden file was read: %s", got)
			}
		})
	}
}

// manyAliases returns n members with the alias *a.
func manyAliases(n int) (text string) {
	for i := range n {
		text += fmt.Sprintf("  x%d: *a\n", i)
	}
	return text
}

// TestSkillFolders checks what is read besides the SKILL.md of a skill.
func TestSkillFolders(t *testing.T) {
	t.Parallel()
	const text = "---\nname: a\ndescription: d\n---\n"
	type texts map[string]string
	for _, row := range []struct {
		name         string
		links, files texts // targets and contents, by path
		want         string
	}{
		{"a symbolic link inside", texts{"a/copy.md": "SKILL.md"}, nil, `skill/skills.a |"path":"copy.md"`},
		{"a symbolic link outside", texts{"a/x": "../../secret"}, nil, "invalid: |escapes"},
		{"an absolute symbolic link", texts{"a/x": "/etc/hostname"}, nil, "invalid: |escapes"},
		{"a symbolic link to a directory outside", texts{"a/x": "/etc"}, nil, "invalid: |escapes"},
		{"a symbolic link to a directory", texts{"a/x": "."}, nil, "invalid: |expected a regular file"},
		{"a SKILL.md outside", texts{"b/SKILL.md": "../../secret"}, texts{"b/x": ""}, "skill/skills.a|invalid: |escapes"},
		{"a SKILL.md that is a symbolic link to itself", texts{"b/SKILL.md": "SKILL.md"}, texts{"b/x": ""},
			"skill/skills.a|invalid: |too many levels"},
		{"symbolic links to parent directories", texts{"b/up": ".."}, texts{"b/x": ""}, "skills\nskill/skills.a "},
		{"a broken symbolic link", texts{"a/x": "none"}, nil, "invalid: |no such file"},
		{"files that are too large", nil, texts{"a/x": strings.Repeat("x", schemas.MaxResourceBytes+1)},
			"invalid: resources: expected at most 100 files of 1048576 bytes together beside SKILL.md, got 1 files"},
		{"an invalid package", nil, texts{"a/references/cairn-package.json": `{"skill":7}`},
			"invalid: references/cairn-package.json: skill: expected a skill"},
		{"two skills with one id", nil, texts{"b/a/SKILL.md": text}, "skill/skills.a|invalid: |have the same id"},
		{"a file in lower case", nil, texts{"b/skill.md": strings.Replace(text, "name: a", "name: b", 1)},
			"skill/skills.a|skill/skills.b"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			write(t, top, "secret", "secret")
			write(t, top, "dir/a/SKILL.md", text)
			for path, content := range row.files {
				write(t, top, "dir/"+path, content)
			}
			for path, target := range row.links {
				link(t, target, top+"/dir/"+path)
			}
			check(t, read(t, Options{Source: top + "/dir", Strict: true}), row.want)
		})
	}
	t.Run("no skills", func(t *testing.T) {
		check(t, read(t, Options{Source: t.TempDir()}),
			"error: |expected directories with a SKILL.md; hidden ones are skipped")
	})
	t.Run("a file as skills", func(t *testing.T) {
		check(t, read(t, Options{Command: []string{"x"}, Format: formatSkills}), "error: |expected a directory")
	})
}

// TestResources checks which files of a skill become resources.
func TestResources(t *testing.T) {
	t.Parallel()
	const text = "---\nname: a\ndescription: d\n---\n"
	for _, row := range []struct {
		name, body string
		files      map[string]int // sizes
		want       string
	}{
		{"a file that is too large is omitted and reported", "", map[string]int{"large": schemas.MaxResourceBytes, "x": 1},
			`"resources":[{"path":"x","text":"x"}]|"omitted_resources":["large"]|/a/SKILL.md: omitted large` +
				`|warning: resources: expected at most 100 files of 1048576 bytes together beside SKILL.md, got 1 files`},
		{"a file of 1 GiB is not read", "", map[string]int{"sparse": 1 << 30}, `"omitted_resources":["sparse"]`},
		{"smaller files come first", "", map[string]int{"a": 600_000, "b": 500_000, "c": 1}, `"omitted_resources":["a"]`},
		{"files in the text come first", "Run ./lib/a.py.", map[string]int{"lib/a.py": 600_000, "b": 500_000, "c": 1},
			`"path":"lib/a.py"|"path":"c"|"omitted_resources":["b"]`},
		{"base names in the text count, too", "Run `a.py`", map[string]int{"lib/a.py": 600_000, "b": 500_000},
			`"omitted_resources":["b"]`},
		{"instructions count", strings.Repeat("x", 90_000), map[string]int{"a": 900_000}, `"omitted_resources":["a"]`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "a/SKILL.md", text+row.body)
			for name, size := range row.files {
				path := write(t, dir, "a/"+name, strings.Repeat("x", min(size, schemas.MaxResourceBytes)))
				if err := os.Truncate(path, int64(size)); err != nil {
					t.Fatal(err)
				}
			}
			check(t, read(t, Options{Source: dir}), row.want)
		})
	}
	dir := t.TempDir()
	for i := range schemas.MaxResources + 1 {
		write(t, dir, fmt.Sprintf("a/%03d", i), "x")
	}
	write(t, dir, "a/SKILL.md", text)
	check(t, read(t, Options{Source: dir}), `"path":"099"|"omitted_resources":["100"]`)
	script := write(t, dir, "b/run", "x")
	if err := os.Chmod(script, 0o755); err != nil { // #nosec G302 -- an executable file
		t.Fatal(err)
	}
	write(t, dir, "b/SKILL.md", text)
	check(t, read(t, Options{Source: dir + "/b/SKILL.md"}),
		`skill/skills.a |[{"path":"run","text":"x","executable":true}]`)
}

// TestManyFiles checks that a directory beyond the limits is rejected. With CAIRN_TEST_FAULTS=1, the directory has a
// million files.
func TestManyFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	counted, files := maxFiles-5, 5
	if os.Getenv("CAIRN_TEST_FAULTS") == "1" {
		counted, files = 0, 1_000_000
	}
	for i := range files {
		write(t, dir, fmt.Sprint(i), "")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	f := folder{root: root, counted: counted}
	if _, err := f.find(t.Context()); !errors.Is(err, errTooManyFiles) || !errors.Is(err, flags.ErrUsage) {
		t.Errorf("got %v", err)
	}
}

// TestWrongInput checks that wrong input is a usage error, which has the exit code 2.
func TestWrongInput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	document := write(t, dir, "document", `{"name":7,"servers":7}`)
	for name, o := range map[string]Options{
		"a directory without skills":       {Source: dir},
		"a command as skills":              {Command: []string{"x"}, Format: formatSkills},
		"a registry without a list":        {Source: document, Format: formatRegistry},
		"a file instead of a Cairn":        {Source: document, Format: formatCairn},
		"a document of an unknown format":  {Source: document},
		"a command instead of a directory": {Command: []string{"x"}, Format: formatServer},
	} {
		o.Read = func(int) {}
		if _, err := Read(t.Context(), o, ""); !errors.Is(err, flags.ErrUsage) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestPathIDs checks the ids of skills with --id path.
func TestPathIDs(t *testing.T) {
	t.Parallel()
	const text = "---\nname: a\ndescription: d\nmetadata:\n  skill_id: x.a\n---\n"
	dir := t.TempDir()
	write(t, dir, "set.1/a/SKILL.md", text)
	write(t, dir, "set 2/a/SKILL.md", text)
	check(t, read(t, Options{Source: dir}), "skill/x.a |invalid: expected different ids, got |; --id path")
	check(t, read(t, Options{Source: dir, Domain: "docs", ID: IDPath}),
		`skill/docs.set%202.a |"name":"a"|skill/docs.set%2E1.a `)
	check(t, read(t, Options{Source: dir + "/set.1/a", ID: IDPath}), `skill/skills.a `)
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

// mcpHandler returns an MCP server with a tool.
func mcpHandler() http.Handler {
	server := sdk.NewServer(&sdk.Implementation{Name: "io.example/weather", Title: "Weather", Version: "1.0.0"},
		&sdk.ServerOptions{Instructions: "Ask for rain."})
	sdk.AddTool(server, &sdk.Tool{Name: "get.forecast", Description: "Forecast of a city"},
		func(context.Context, *sdk.CallToolRequest, struct{ City string }) (*sdk.CallToolResult, struct{ Rain bool }, error) {
			return nil, struct{ Rain bool }{}, nil
		})
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
}

// withoutDelete is a handler that never answers the end of a session.
func withoutDelete(h http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			<-r.Context().Done()
			return
		}
		h.ServeHTTP(w, r)
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	const server = `{"name":"io.example/%s","description":"d","version":"1.0.0"}`
	page := func(name, cursor string) string {
		return fmt.Sprintf(`{"servers":[{"server":`+server+`}],"metadata":{"nextCursor":"%s"}}`, name, cursor)
	}
	tools := mcpHandler()
	registry := func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer k":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path != "/v0.1/servers":
			http.NotFound(w, r)
		case r.URL.Query().Get("version") != "latest":
			w.WriteHeader(http.StatusBadRequest)
		case r.URL.Query().Get("cursor") == "":
			_, _ = io.WriteString(w, page("a", "two"))
		default:
			_, _ = io.WriteString(w, page("b", ""))
		}
	}
	for _, row := range []struct {
		name, path string
		options    Options
		serve      http.HandlerFunc
		want       string
	}{
		{"an MCP server", "/mcp", Options{Agents: true, Name: "weather"}, tools.ServeHTTP,
			`mcp|tool/io.example.weather.get%2Eforecast |"input_schema":{|"output_schema":{|"mcp":{"server":"io.example/weather","tool":"get.forecast","url":"http://|"source":"weather"` +
				`|agent/io.example.weather |"description":"Ask for rain."|"capabilities":["get.forecast"]`},
		{"an MCP server whose session does not end", "/mcp", Options{Timeout: 3 * time.Second}, withoutDelete(tools),
			"mcp|io.example.weather."},
		{"an MCP registry with two pages", "", Options{Key: "k"}, registry,
			"mcp-registry|io.example.a.@server|io.example.b.@server"},
		{"no credential", "", Options{}, registry, "error: |authentication failed: |401 Unauthorized"},
		{"a registry without an end", "/v0/servers", Options{}, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, page("x"+r.URL.Query().Get("cursor"), r.URL.Query().Get("cursor")+"x"))
		}, "error: |expected at most"},
		{"a page that fails", "/v0/servers", Options{}, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("cursor") != "" {
				w.WriteHeader(http.StatusInternalServerError)
			}
			_, _ = io.WriteString(w, page("a", "two"))
		}, "error: |page 2: responded with 500"},
		{"an agent card below the URL", "/base", Options{}, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/base/.well-known/agent-card.json" {
				http.NotFound(w, r)
				return
			}
			_, _ = io.WriteString(w, `{"name":"A","description":"d","version":"1","url":"https://a","skills":[]}`)
		}, "agent-card|agent/a2a.A "},
		{"a document", "/openapi.json?x=1", Options{}, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"openapi":"3.0.0","info":{"title":"P"},"paths":{"/a":{"get":{}}}}`)
		}, "openapi|tool/openapi.P."},
		{"a page", "", Options{}, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<html>")
		}, "error: |unknown format"},
		{"nothing", "", Options{}, http.NotFound, "error: |unknown format"},
		{"a large response", "", Options{}, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat(" ", maxDocument+1))
		}, "error: |expected a document of at most"},
		{"a server that does not answer", "", Options{Timeout: 100 * time.Millisecond},
			func(_ http.ResponseWriter, r *http.Request) {
				<-r.Context().Done()
			}, "error: |deadline exceeded"},
		{"a redirect to another host does not get the key", "", Options{Key: "k"},
			func(w http.ResponseWriter, r *http.Request) {
				target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.WriteString(w, `{"openapi":"3.0.0","info":{"title":"`+r.Header.Get("Authorization")+
						`P"},"paths":{"/a":{"get":{}}}}`)
				}))
				t.Cleanup(target.Close)
				http.Redirect(w, r, target.URL, http.StatusFound)
			}, "tool/openapi.P."},
		{"an MCP server that does not answer", "/mcp", Options{Format: formatMCP, Timeout: 100 * time.Millisecond},
			func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				<-r.Context().Done()
			}, "error: |deadline exceeded"},
		{"no MCP server", "", Options{Format: formatMCP}, http.NotFound, "error: |connect to the MCP server"},
		{"a Cairn with a public agent card that requires a key", "", Options{}, func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/records/skill":
				w.WriteHeader(http.StatusUnauthorized)
			case "/.well-known/agent-card.json":
				_, _ = io.WriteString(w, `{"name":"A","description":"d","version":"1","url":"https://a","skills":[]}`)
			}
		}, "error: |authentication failed: |401 Unauthorized"},
		{"no key for a Cairn", "", Options{Format: formatCairn}, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"code":"CE-006","title":"not authenticated","status":401}`)
		}, "error: |authentication failed: |CE-006"},
		{"no Cairn", "", Options{Format: formatCairn}, http.NotFound, "error: |404"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(row.serve)
			t.Cleanup(server.Close)
			row.options.Source = server.URL + row.path
			check(t, read(t, row.options), row.want)
		})
	}
	for _, source := range []string{"http://", "http://user:secret@127.0.0.1:1/", "https://a b:secret@/"} {
		if got := read(t, Options{Source: source}); !strings.HasPrefix(got, "error: ") || strings.Contains(got, "secret") {
			t.Error(got)
		}
	}
}

// TestKeyOfRedirects checks that a key for https is not sent in clear text.
func TestKeyOfRedirects(t *testing.T) {
	t.Parallel()
	received := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		received <- r.Header.Get("Authorization")
	}))
	t.Cleanup(server.Close)
	target, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, scheme, want string }{
		{"a redirect from https to http does not get the key", "https", ""},
		{"a redirect from http to http gets the key", "http", "Bearer k"},
	} {
		s, err := newSource(Options{Source: row.scheme + "://" + target.Host, Key: "k"})
		if err == nil {
			_, err = s.get(t.Context(), target) // as after a redirect
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := <-received; got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, script, want string }{
		{"a server that ends at once", "exit 3",
			"error: |the command ended before it answered (exit status 3): expected an MCP server"},
		{"a server that prints to stdout", "echo Listening; cat",
			`error: |the command prints "Listening" to stdout: expected messages of the protocol only`},
		{"a server that prints to stdout and ends", "echo Usage: x", `error: |the command prints "Usage: x" to stdout`},
		{"a server that logs JSON to stdout", `echo '{"level":"info"}'; cat`, `the command prints "{\"level\":\"info\"}" to stdout`},
		{"a server that prints without end", "yes", `the command prints "y" to stdout`},
		{"a server that hangs", "exec sleep 60", "error: |connect to the MCP server: context deadline exceeded"},
		{"a child process that hangs", "sleep 60; true", "error: |connect to the MCP server: context deadline exceeded"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			check(t, read(t, Options{Command: []string{"sh", "-c", row.script}, Timeout: 2 * time.Second}), row.want)
		})
	}
	check(t, read(t, Options{Command: []string{"/none"}}), "error: /none: |no such file")
	check(t, read(t, Options{Command: []string{"x"}, Format: formatOpenAPI}),
		"error: |a command is a source of the format mcp")
}
