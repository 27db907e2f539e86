package schemas_test

import (
	"errors"
	"strings"
	"testing"

	"cairn/schemas"
)

// decodeMessage returns the message of the error for body, or "" when it is a valid T.
func decodeMessage[T any](t *testing.T, body string, invalid *schemas.Error) string {
	t.Helper()
	_, err := schemas.Decode[T]([]byte(body), invalid)
	if err == nil {
		return ""
	}
	var e *schemas.Error
	if !errors.As(err, &e) || !errors.Is(err, invalid) {
		t.Fatalf("%s: got %v, want %v", body, err, invalid)
	}
	return strings.TrimPrefix(e.Message(), invalid.Title+": ")
}

func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 257)
	for _, row := range []struct{ name, got, want string }{
		{"a valid skill", skill(t, `{"skill_id":"a.b"}`), ""},
		{"unknown fields", skill(t, `{"skill_id":"a.b","color":{"r":1}}`), ""},
		{"invalid JSON", decodeMessage[schemas.RegisterSkill](t, `{"record":`, schemas.ErrInvalidRegistration),
			"record: not valid JSON at byte 10: unexpected EOF"},
		{"an empty body", decodeMessage[schemas.RegisterSkill](t, ``, schemas.ErrInvalidRegistration),
			"the body is empty; expected a JSON object"},
		{"an unknown field of an alias", decodeMessage[schemas.PutAlias](t,
			`{"kind":"skill","id":"a.b","name":"x","target":{"revisoin":"9"}}`, schemas.ErrInvalidRegistration),
			"target.revisoin: unknown field"},
		{"another type", decodeMessage[schemas.RegisterSkill](t, `[]`, schemas.ErrInvalidRegistration),
			"body: expected an object, got an array"},
		{"no record", decodeMessage[schemas.RegisterSkill](t, `{}`, schemas.ErrInvalidRegistration),
			"record.skill_id: required, and must not be empty"},
		{"a resource below another",
			skill(t, `{"skill_id":"a.b","resources":[{"path":"a","text":"x"},{"path":"a/b/c","text":"y"}]}`),
			`record.resources[1].path: is below the resource "a": "a/b/c"`},
		{"a resource above another",
			skill(t, `{"skill_id":"a.b","resources":[{"path":"a/b/c","text":"y"},{"path":"a","text":"x"}]}`),
			`record.resources[1].path: is the directory of another resource: "a"`},
		{"resources in one directory",
			skill(t, `{"skill_id":"a.b","resources":[{"path":"a/b","text":"y"},{"path":"a/c","text":"x"}]}`), ""},
		{"a number for a string", skill(t, `{"skill_id":7}`), "record.skill_id: expected a string, got a number"},
		{"a string for an array", skill(t, `{"skill_id":"a.b","capabilities":"x"}`),
			"record.capabilities: expected an array, got a string"},
		{"a number among strings", skill(t, `{"skill_id":"a.b","capabilities":["x",1]}`),
			"record.capabilities[1]: expected a string, got a number"},
		{"a duplicate member", skill(t, `{"skill_id":"a.b","skill_id":"a.c"}`), "record.skill_id: appears twice"},
		{"one segment", skill(t, `{"skill_id":"a"}`), `record.skill_id: expected at least 2 dot-separated segments, got "a"`},
		{"an empty segment", skill(t, `{"skill_id":"a..b"}`),
			`record.skill_id: must not contain an empty segment, got "a..b"`},
		{"white space", skill(t, `{"skill_id":"a.b c"}`),
			`record.skill_id: must not contain white space or control characters, got "a.b c"`},
		{"too long", skill(t, `{"skill_id":"a.`+long+`"}`), "record.skill_id: expected 1 to 256 characters, got 259"},
		{"another domain", skill(t, `{"skill_id":"a.b","domain":"c"}`),
			`record.domain: must equal the first segment of skill_id, "a", got "c"`},
		{"the reserved tenant", skill(t, `{"skill_id":"a.b","tenant_id":"_global"}`),
			"record.tenant_id: _global is reserved; omit tenant_id for the global scope"},
		{"a null tenant", skill(t, `{"skill_id":"a.b","tenant_id":null}`), ""},
		{"a tool id of two segments",
			decodeMessage[schemas.RegisterTool](t, `{"tool_data":{"tool_id":"a.b"}}`, schemas.ErrInvalidRegistration),
			`tool_data.tool_id: expected at least 3 dot-separated segments, got "a.b"`},
		{"top_k of 0", decodeMessage[schemas.SkillQuery](t, `{"query":"x","top_k":0}`, schemas.ErrMalformed),
			"top_k: expected an integer from 1 to 100, got 0"},
		{"top_k of 1.5", decodeMessage[schemas.SkillQuery](t, `{"query":"x","top_k":1.5}`, schemas.ErrMalformed),
			"top_k: expected an integer, got a number"},
		{"an unknown member of a filter",
			decodeMessage[schemas.SkillQuery](t, `{"query":"x","filter":{"labels":{},"7":{"a":[1]}}}`,
				schemas.ErrMalformed), "filter.7: unknown; expected domain, status, labels, capabilities or public"},
		{"a long unknown member of a filter", decodeMessage[schemas.SkillQuery](t, `{"query":"x","filter":{"`+long+`":0}}`,
			schemas.ErrMalformed), "filter." + long[:193] +
			"…: unknown; expected domain, status, labels, capabilities or public"},
		{"a number for a label of a filter", decodeMessage[schemas.SkillQuery](t, `{"query":"x","filter":{"labels":{"a":1}}}`,
			schemas.ErrMalformed), "filter.labels.a: expected a string, got a number"},
		{"neither id nor query", decodeMessage[schemas.SkillQuery](t, `{}`, schemas.ErrMalformed),
			"query: required without skill_id"},
		{"several invalid fields",
			decodeMessage[schemas.SkillQuery](t, `{"query":"x","top_k":101,"tenant_id":""}`, schemas.ErrMalformed),
			"top_k: expected an integer from 1 to 100, got 101; tenant_id: must not be empty; omit it for the global scope"},
		{"a request_id of 256 characters",
			decodeMessage[schemas.TagKey](t, `{"request_id":"`+long[1:]+`"}`, schemas.ErrMalformed), ""},
		{"a request_id of 257", decodeMessage[schemas.TagKey](t, `{"request_id":"`+long+`"}`, schemas.ErrMalformed),
			"request_id: expected 1 to 256 characters, got 257"},
		{"ttl_seconds of 0", decodeMessage[schemas.TagWrite](t, `{"request_id":"r","flow":"f","tags":{},"ttl_seconds":0}`,
			schemas.ErrMalformed),
			"ttl_seconds: expected an integer of at least 1, got 0"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if row.got != row.want {
				t.Errorf("got  %s\nwant %s", row.got, row.want)
			}
		})
	}
}

func TestRequestNesting(t *testing.T) {
	t.Parallel()
	arrays := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	deepField := func(field string) string { // as far as the error reports it
		return (field + strings.Repeat("[0]", 200))[:200] + "…: nested more than 1000 levels deep at byte "
	}
	for _, row := range []struct{ name, got, want string }{
		{"a record of 1000 levels", skill(t, `{"skill_id":"a.b","x":`+arrays(998)+`}`), ""},
		{"a record of 1001 levels", skill(t, `{"skill_id":"a.b","x":`+arrays(999)+`}`), deepField("record.x") + "1030"},
		{"a record nested deeper than the JSON package decodes", skill(t, `{"skill_id":"a.b","x":`+arrays(100_000)+`}`),
			deepField("record.x") + "1030"},
		{"a tag of 1001 levels", decodeMessage[schemas.TagWrite](t, `{"tags":{"a":[],"b":`+arrays(999)+`}}`,
			schemas.ErrMalformed),
			deepField("tags.b") + "1018"},
		{"a field of another type", decodeMessage[schemas.SkillQuery](t, `{"query":`+arrays(1000)+`}`, schemas.ErrMalformed),
			deepField("query") + "1008"},
		{"1001 records that are not nested", skill(t, `{"skill_id":"a.b","x":[{}`+strings.Repeat(",{}", 5000)+`]}`), ""},
		{"brackets in a text", skill(t, `{"skill_id":"a.b","x":"`+strings.Repeat(`\"[\\`, 2000)+`"}`), ""},
		{"brackets after a text that ends in a backslash", skill(t, `{"skill_id":"a.b","x":["\\",`+arrays(998)+`]}`),
			deepField("record.x[1]") + "1035"},
		{"invalid JSON before it", skill(t, `{"skill_id":"a.b","x":,`+arrays(5000)+`}`),
			"record.x: not valid JSON at byte 32: invalid character at start of value"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if row.got != row.want {
				t.Errorf("got  %s\nwant %s", row.got, row.want)
			}
		})
	}
	if _, err := schemas.Decode[schemas.Nothing]([]byte(arrays(5000)), schemas.ErrMalformed); err != nil {
		t.Errorf("a request without fields: %v", err)
	}
}

// A syntax error names the field and the position, and contains no part of a value.
func TestSyntaxErrors(t *testing.T) {
	t.Parallel()
	const query = `{"query":"` // of 10 bytes
	for _, row := range []struct{ name, body, want string }{
		{"a surrogate followed by another escape", query + `\ud800\u0041 secret"}`,
			"query: not valid JSON at byte 10: invalid surrogate pair in string"},
		{"a surrogate followed by text", query + `\ud800secret"}`,
			"query: not valid JSON at byte 10: invalid surrogate pair in string"},
		{"a surrogate followed by quotation marks", query + "\\ud800`'`'``\"}",
			"query: not valid JSON at byte 10: invalid surrogate pair in string"},
		{"a surrogate alone", query + `\ud800"}`, "query: not valid JSON at byte 10: invalid surrogate pair in string"},
		{"an unknown escape", query + `\q"}`, "query: not valid JSON at byte 10: invalid escape sequence in string"},
		{"an escape of no hexadecimal digits", query + `\u in "}`,
			"query: not valid JSON at byte 10: invalid escape sequence in string"},
		{"a control character", query + "\n\"}",
			"query: not valid JSON at byte 10: invalid character in string (expecting non-control character)"},
		{"invalid UTF-8", query + "\xff\"}", "query: not valid JSON at byte 10: invalid UTF-8"},
		{"an unterminated text", query + `secret`, "query: not valid JSON at byte 16: unexpected EOF"},
		{"a word", `{"query":secret}`, "query: not valid JSON at byte 9: invalid character at start of value"},
		{"a value without a comma after it", `{"query":"a" "top_k":1}`,
			"not valid JSON at byte 13: invalid character after object value (expecting ',' or '}')"},
		{"another literal", `{"query":ture}`,
			"query: not valid JSON at byte 10: invalid character in literal true (expecting 'r')"},
		{"no value", `{"query"}`, "query: not valid JSON at byte 8: invalid character after object name (expecting ':')"},
		{"a name that is not a string", `{query:1}`, "not valid JSON at byte 1: invalid character at start of value"},
		{"an element", `{"tool_ids":["a",é]}`, "tool_ids[1]: not valid JSON at byte 17: invalid character at start of value"},
		{"text", `secret`, "not valid JSON at byte 0: invalid character at start of value"},
		{"text after the body", `{} secret`, "not valid JSON at byte 3: invalid character after top-level value"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := decodeMessage[schemas.SkillQuery](t, row.body, schemas.ErrMalformed); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

func skill(t *testing.T, record string) string {
	t.Helper()
	return decodeMessage[schemas.RegisterSkill](t, `{"record":`+record+`}`, schemas.ErrInvalidRegistration)
}

func TestAnalysis(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, body, mode, query, message string }{
		{"the minimal request", `{"query":"q","context":"{}","target":"H"}`, "standard", "q", ""},
		{"broad", `{"query":"q","context":"{}","target":"H","mode":"broad"}`, "broad", "q", ""},
		{"the legacy target", `{"query":"q","context":"{}","target":"br"}`, "broad", "q", ""},
		{"the query from the history",
			`{"query":"","context":"{}","target":"H","prompt":{"m":{"0":{"r":0,"c":"a"},"2":{"r":0,"c":"c"},"10":{"r":1,"c":"d"}}}}`, "standard", "c", ""},
		{"another target", `{"query":"q","context":"{}","target":"X"}`, "", "", `target: required: H, got "X"`},
		{"another mode", `{"query":"q","context":"{}","target":"H","mode":"loud"}`, "", "",
			`mode: expected standard or broad, got "loud"`},
		{"no query and no history", `{"context":"{}","target":"H"}`, "", "",
			"query: required when prompt.m has no user message"},
		{"no context", `{"query":"q","target":"H"}`, "", "", "context: required: the JSON text of the estate, as a string; or the estate, as an object or array"},
		{"the query from messages of chat APIs", `{"context":"{}","target":"H","prompt":[{"role":"user","content":"a"},` +
			`{"role":"user","content":"b"},{"role":"assistant","content":"c"}]}`, "standard", "b", ""},
		{"a message with a role that a history has not", `{"query":"q","context":"{}","target":"H","prompt":[` +
			`{"role":"user","content":"a"},{"role":"system","content":"b"}]}`, "", "",
			`prompt[1].role: expected user or assistant, got "system"`},
		{"a message with a part", `{"query":"q","context":"{}","target":"H","prompt":[{"role":"user","content":[]}]}`, "", "",
			"prompt[0].content: expected a string, got an array"},
		{"a message with a role that appears twice",
			`{"query":"q","context":"{}","target":"H","prompt":[{"role":"user","role":"user"}]}`, "", "",
			"prompt[0].role: appears twice"},
		{"a history that is a text", `{"query":"q","context":"{}","target":"H","prompt":"a"}`, "", "",
			"prompt: expected an object, got a string"},
		{"an unknown role", `{"query":"q","context":"{}","target":"H","prompt":{"m":{"0":{"r":7,"c":"a"}}}}`, "", "",
			"prompt.m.0.r: expected 0 (user) or 1 (assistant), got 7"},
		{"a key that is not an index", `{"query":"q","context":"{}","target":"H","prompt":{"m":{"x":{"r":0,"c":"a"}}}}`, "",
			"",
			`prompt.m: keys are message indexes such as "0", got "x"`},
		{"an unknown event to include", `{"query":"q","context":"{}","target":"H","include":["x"]}`, "", "",
			`include[0]: expected usage, provenance or suggestions, got "x"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := decodeMessage[schemas.Analysis](t, row.body, schemas.ErrAnalysisMalformed); got != row.message {
				t.Errorf("got  %s\nwant %s", got, row.message)
			}
			a, _ := schemas.Decode[schemas.Analysis]([]byte(row.body), schemas.ErrAnalysisMalformed)
			if row.message == "" && (a.Mode != row.mode || a.Query != row.query) {
				t.Errorf("got mode %q and query %q, want %q and %q", a.Mode, a.Query, row.mode, row.query)
			}
		})
	}
}
