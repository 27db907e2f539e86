package analyze

import (
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTextCalls feeds each text in one piece and byte by byte.
func TestTextCalls(t *testing.T) {
	t.Parallel()
	const (
		count   = `{"data_key":"site.pumps"}`
		groups  = `{"data_key": "site.pumps", "group_by": "state"}`
		counted = "compute_stats " + count
		grouped = "compute_stats " + groups
		call    = `{"name":"compute_stats","arguments":` + count + `}`
		inspect = `{"name":"inspect_schema","arguments":` + count + `}`
		unknown = `<tool_call>{"name":"drop","arguments":{}}</tool_call>`
	)
	example := "```json\n{\"name\": \"pump\", \"state\": \"on\"}\n```"
	long := "{\"name\":\"" + strings.Repeat("x", maxTextCall)
	for _, row := range []struct {
		name, text, want string
		calls            []string
	}{
		{"Qwen and Hermes", "<tool_call>\n{\"name\": \"compute_stats\", \"arguments\": " + groups + "}\n</tool_call>", "",
			[]string{grouped}},
		{"two calls of Qwen", "<tool_call>\n" + call + "\n</tool_call>\n<tool_call>\n" + inspect + "\n</tool_call>",
			"\n", []string{counted, "inspect_schema " + count}},
		{"Qwen with a prose introduction and end", "I count.\n<tool_call>\n" + call + "\n</tool_call>\nDone.",
			"I count.\n\nDone.", []string{counted}},
		{"tools tags", "<tools>" + call + "</tools>", "", []string{counted}},
		{"tools tags on lines", "<tools>\n" + call + "\n</tools>", "", []string{counted}},
		{"a fenced block of JSON", "```json\n" + call + "\n```", "", []string{counted}},
		{"a fenced block", "```\n" + call + "\n```", "", []string{counted}},
		{"a fenced block within text", "First:\n```json\n" + call + "\n```\nThen more.", "First:\n\nThen more.",
			[]string{counted}},
		{"Llama's object", `{"name": "compute_stats", "parameters": ` + groups + `}`, "", []string{grouped}},
		{"Llama's object after text", "Let me see: " + call, "Let me see: ", []string{counted}},
		{"Llama's type of call", `{"type": "function", "name": "compute_stats", "parameters": ` + count + `}`, "",
			[]string{counted}},
		{"Llama's python tag", `<|python_tag|>{"name": "compute_stats", "parameters": ` + groups + `}`, "",
			[]string{grouped}},
		{"two calls of Llama", `<|python_tag|>` + call + `; {"name": "inspect_schema", "parameters": ` + count + `}`, " ",
			[]string{counted, "inspect_schema " + count}},
		{"Mistral", `[TOOL_CALLS] [{"name": "compute_stats", "arguments": ` + groups + `}]`, "", []string{grouped}},
		{"Mistral without a space", `[TOOL_CALLS][` + call + `,` + inspect + `]`, "",
			[]string{counted, "inspect_schema " + count}},
		{"a list of calls without a mark", `[{"name":"compute_stats","arguments":` + count + `}]`, "", []string{counted}},
		{"a call without arguments", `<tool_call>{"name":"inspect_schema"}</tool_call>`, "", []string{"inspect_schema "}},
		{"braces in a string", `<tool_call>{"name":"compute_stats","arguments":{"data_key":"a}{\"b"}}</tool_call>`, "",
			[]string{`compute_stats {"data_key":"a}{\"b"}`}},
		{"tags in a string", `<tool_call>{"name":"compute_stats","arguments":{"data_key":"</tool_call>"}}</tool_call>`, "",
			[]string{`compute_stats {"data_key":"</tool_call>"}`}},

		{"prose", "Three pumps are on.", "Three pumps are on.", nil},
		{"a fenced example", example, example, nil},
		{"a fence of code", "```go\nx := []int{1}\n```", "```go\nx := []int{1}\n```", nil},
		{"a brace in prose", "The set {a, b} is small.", "The set {a, b} is small.", nil},
		{"an object in prose", `It has {"state": "on"} once.`, `It has {"state": "on"} once.`, nil},
		{"less than", "a < b, and <tool b", "a < b, and <tool b", nil},
		{"a list of records", `[{"name":"pump"}]`, `[{"name":"pump"}]`, nil},
		{"an unknown tool", unknown, unknown, nil},
		{"a fence at the end", "Three.\n```", "Three.\n```", nil},
		{"the beginning of a mark at the end", "Three <tool_ca", "Three <tool_ca", nil},
		{"a brace at the end", "Three {", "Three {", nil},
		{"an example and a call", example + "\nNow " + call, example + "\nNow ", []string{counted}},

		{"a call that is cut off", `Wait. <tool_call>{"name":"compute_stats","arguments":{"data_key":"si`, "Wait. ", nil},
		{"an object that is cut off", `{"name":"compute_stats"`, "", nil},
		{"an object of no call that is cut off", `So {"state":"o`, `So {"state":"o`, nil},
		{"text beyond the limit", long + `"} and more`, long + `"} and more`, nil},
		{"text beyond the limit without an end", long, long, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			bytes := strings.Split(row.text, "")
			if len(bytes) > maxTextCall { // would be read 16,384 times
				bytes = slices.Collect(chunks(row.text, 500))
			}
			for feed, pieces := range map[string][]string{"in one piece": {row.text}, "byte by byte": bytes} {
				c := textCalls{offered: []string{inspectSchema, computeStats}}
				var b strings.Builder
				for _, piece := range pieces {
					b.WriteString(c.add(piece))
				}
				b.WriteString(c.rest())
				var calls []string
				for _, got := range c.calls {
					calls = append(calls, got.Name+" "+string(got.Input))
				}
				if diff := cmp.Diff(row.want, b.String()); diff != "" {
					t.Errorf("%s: text (-want +got):\n%.2000s", feed, diff)
				}
				if diff := cmp.Diff(row.calls, calls); diff != "" {
					t.Errorf("%s: calls (-want +got):\n%s", feed, diff)
				}
			}
		})
	}
}

// chunks returns a text in pieces of n bytes.
func chunks(text string, n int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(text) > 0 && yield(text[:min(n, len(text))]) {
			text = text[min(n, len(text)):]
		}
	}
}

// TestTextCallsAreStreamed: text is released as soon as it cannot begin a call.
func TestTextCallsAreStreamed(t *testing.T) {
	t.Parallel()
	c := textCalls{offered: []string{computeStats}}
	for _, row := range []struct{ piece, want string }{
		{"Three ", "Three "}, {"<", ""}, {"b>", "<b>"}, {" `", " "}, {"``", ""}, {"go\n", "```go\n"}, {"{", ""}, {"x", "{x"},
		{"<tool_call>", ""}, {`{"name":"compute_stats"`, ""}, {`,"arguments":{}}`, ""}, {"</tool_call>", ""},
		{" end", " end"},
	} {
		if got := c.add(row.piece); got != row.want {
			t.Errorf("%q: got %q, want %q", row.piece, got, row.want)
		}
	}
	if len(c.calls) != 1 {
		t.Errorf("got %d calls, want 1", len(c.calls))
	}
}

// TestTextCallsWithoutTools: all text is an answer if no tool is offered.
func TestTextCallsWithoutTools(t *testing.T) {
	t.Parallel()
	const text = `<tool_call>{"name":"compute_stats","arguments":{}}</tool_call>`
	var c textCalls
	if got := c.add(text) + c.rest(); got != text || len(c.calls) != 0 {
		t.Errorf("got %q and %d calls", got, len(c.calls))
	}
}
