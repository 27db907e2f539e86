package test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// estate is a small estate with a nested array.
const estate = `{"hosts":[
	{"name":"h1","site":"Oslo","os":"linux","cpus":8,"rack":{"row":"a"}},
	{"name":"h2","site":"Oslo","os":"windows","cpus":16,"rack":{"row":"b"}},
	{"name":"h3","site":"Bergen","os":"linux","cpus":4,"rack":null}],
	"network":{"vlans":[{"id":10,"site":"Oslo"},{"id":20,"site":"Bergen"}]}}`

func TestAnalysis(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		events := c.analyze(t, question("How many hosts per site?", estate,
			`"id":"client","request_id":"r","profile":{"x":1}`))
		inOrder(t, kindsOf(events))
		uses, results := all(events, "tool_use"), all(events, "tool_result")
		if len(uses) == 0 {
			t.Fatalf("no tool was used: %v", events)
		}
		for i := range uses {
			var use struct {
				ID    string `json:"tool_call_id"`
				Name  string
				Input map[string]any
			}
			var result struct {
				ID     string `json:"tool_call_id"`
				Result map[string]any
			}
			if err := json.Unmarshal([]byte(uses[i]), &use); err != nil || use.ID == "" || use.Name == "" ||
				use.Input["data_key"] == nil {
				t.Errorf("tool_use %s: want tool_call_id, name and input: %v", uses[i], err)
			}
			if err := json.Unmarshal([]byte(results[i]), &result); err != nil || result.ID != use.ID || result.Result == nil {
				t.Errorf("tool_result %s: want a result of %s: %v", results[i], use.ID, err)
			}
		}
		last := value(t, results[len(results)-1])
		if diff := contains(last, value(t, `{"result":{"groups":{"Oslo":2,"Bergen":1},"total":3}}`)); diff != "" {
			t.Errorf("%s in %v", diff, last)
		}
		if answer := textOf(t, events); !strings.Contains(answer, "Oslo") || !strings.Contains(answer, "2") {
			t.Errorf("the answer is %q", answer)
		}
	})
}

func TestInvalidAnalyses(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		const head = `{"query":"q","context":"{}","target":"H"`
		c.rows(t, []row{
			{"a query or a history is required", analyze, `{"query":"","context":"{}","target":"H"}`, 400, "AN-400 query", ""},
			{"no query at all", analyze, `{"context":"{}","target":"H"}`, 400, "AN-400 query", ""},
			{"a history without a user", analyze,
				`{"query":"","prompt":{"m":{"0":{"r":1,"c":"hello"}}},"context":"{}","target":"H"}`, 400,
				"AN-400 query", ""},
			{"an empty history", analyze, `{"query":"","prompt":{"m":{}},"context":"{}","target":"H"}`, 400, "AN-400 query", ""},
			{"no JSON", analyze, `{"query":`, 400, "AN-400", ""},
			{"nothing", analyze, ``, 400, "AN-400", ""},
			{"no object", analyze, `["q"]`, 400, "AN-400", ""},
			{"data after the object", analyze, head + `} x`, 400, "AN-400", ""},
			{"a duplicate member", analyze, head + `,"query":"p"}`, 400, "AN-400 query", ""},
			{"a query that is not a string", analyze, `{"query":1,"context":"{}","target":"H"}`, 400, "AN-400 query", ""},
			{"no context", analyze, `{"query":"q","target":"H"}`, 400, "AN-400 context", ""},
			{"an empty context", analyze, `{"query":"q","context":"","target":"H"}`, 400, "AN-400 context", ""},
			{"a context that is a number", analyze, `{"query":"q","context":7,"target":"H"}`, 400,
				"AN-400 context", ""},
			{"no target", analyze, `{"query":"q","context":"{}"}`, 400, "AN-400 target", ""},
			{"another agent's target", analyze, `{"query":"q","context":"{}","target":"K"}`, 400, "AN-400 target", ""},
			{"an unknown mode", analyze, head + `,"mode":"wild"}`, 400, "AN-400 mode", ""},
			{"an unknown extra", analyze, head + `,"include":["cost"]}`, 400, "AN-400 include[0]", ""},
			{"a history index that is not a number", analyze, head + `,"prompt":{"m":{"first":{"r":0,"c":"x"}}}}`, 400,
				"AN-400 prompt.m", ""},
			{"a history with a third role", analyze, head + `,"prompt":{"m":{"0":{"r":2,"c":"x"}}}}`, 400, "AN-400 prompt.m.0.r",
				""},
			{"a context that is not JSON", analyze, `{"query":"q","context":"{","target":"H"}`, 500, "AN-500", ""},
			{"a context that is plain text", analyze, `{"query":"q","context":"hosts","target":"H"}`, 500, "AN-500", ""},
		})
	})
}

func TestAnalysisBodyLimit(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		const most = 10 << 20
		head, foot := `{"query":"How many hosts per site?","target":"H","context":"{\"pad\":\"`,
			`\",\"hosts\":[{\"site\":\"Oslo\"},{\"site\":\"Oslo\"}]}"}`
		body := head + strings.Repeat("x", most-len(head)-len(foot)) + foot
		if got := textOf(t, c.analyze(t, body)); !strings.Contains(got, "Oslo") {
			t.Errorf("10 MiB: %q", got)
		}
		c.call(t, analyze, body+" ").expect(t, 413, "AN-413", "")
		res, err := c.send(t.Context(), analyze, chunked{strings.NewReader(body + " ")})
		must(t, err)
		defer func() { _ = res.Body.Close() }()
		if res.StatusCode != 413 {
			t.Errorf("a body of unknown length that is too large: %d, want 413", res.StatusCode)
		}
	})
}

// chunked is a body without Content-Length.
type chunked struct {
	body interface{ Read([]byte) (int, error) }
}

// Read implements io.Reader.
func (c chunked) Read(p []byte) (int, error) { return c.body.Read(p) }

// TestProvenance checks that each figure of the answer is a number of a tool result.
func TestProvenance(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		events := c.analyze(t, question("How many hosts per site?", estate, `"include":["provenance","usage"]`))
		inOrder(t, kindsOf(events))
		results := map[string]any{}
		for _, data := range all(events, "tool_result") {
			r := value(t, data).(map[string]any)
			results[r["tool_call_id"].(string)] = r["result"]
		}
		provenance := all(events, "provenance")
		if len(provenance) != 1 {
			t.Fatalf("provenance %v, want one", provenance)
		}
		figures := value(t, provenance[0]).(map[string]any)["figures"].([]any)
		if len(figures) == 0 {
			t.Errorf("no figures of %q", provenance)
		}
		for _, f := range figures {
			sources, _ := f.(map[string]any)["sources"].([]any)
			for _, s := range sources {
				source := s.(map[string]any)
				if _, ok := at(results[source["tool_call_id"].(string)], source["pointer"].(string)).(float64); !ok {
					t.Errorf("%v: its source is not a number", f)
				}
			}
			if len(sources) == 0 {
				t.Errorf("the figure %v has no source", f)
			}
		}
	})
}

// TestSuggestions asks the questions suggested in place of a declined one.
func TestSuggestions(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		const include = `"include":["suggestions"]`
		declined := c.analyze(t, question("How many gleeps are there?", estate, include))
		suggested := all(declined, "suggestions")
		if len(suggested) != 1 {
			t.Fatalf("events %v, want one suggestions", kindsOf(declined))
		}
		for _, q := range value(t, suggested[0]).(map[string]any)["questions"].([]any) {
			events := c.analyze(t, question(q.(string), estate, include))
			if n := len(all(events, "suggestions")); n != 0 || len(all(events, "tool_use")) == 0 {
				t.Errorf("%s: %v, want an answer without suggestions", q, kindsOf(events))
			}
		}
		without := c.analyze(t, question("How many gleeps are there?", estate))
		if n := len(all(without, "suggestions")); n != 0 {
			t.Errorf("%d suggestions without include, want none", n)
		}
	})
}

// at returns the value at a JSON Pointer without escapes; nil if there is none.
func at(v any, pointer string) any {
	for _, name := range strings.Split(pointer, "/")[1:] {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}

func TestUsage(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		without := c.analyze(t, question("How many hosts per site?", estate))
		if len(all(without, "usage")) != 0 {
			t.Errorf("unrequested usage: %v", without)
		}
		requested := c.analyze(t, question("How many hosts per site?", estate, `"include":["usage"]`))
		inOrder(t, kindsOf(requested))
		var usage struct {
			ToolCalls int `json:"tool_calls"`
			Prompt    int `json:"prompt_tokens"`
			Answer    int `json:"answer_tokens"`
		}
		if list := all(requested, "usage"); len(list) != 1 || json.Unmarshal([]byte(list[0]), &usage) != nil {
			t.Fatalf("usage %v, want one", list)
		}
		if usage.ToolCalls != len(all(requested, "tool_use")) || usage.Prompt == 0 || usage.Answer == 0 {
			t.Errorf("usage %+v with %d tool calls", usage, len(all(requested, "tool_use")))
		}
	})
}

func TestEventsAreStreamed(t *testing.T) {
	everywhere(t, scripted, func(t *testing.T, c *client) {
		s := c.follow(t, question(text(script{Say: "first words ", Await: c.word}), estate))
		if first, ok := s.next(); !ok || first.kind != "text_delta" {
			t.Fatalf("%v, want the first words while the model is still running", first)
		}
		theModel.received.await(t, 5*time.Second, c.word, "the model receives the request")
		theModel.released.set(c.word)
		if got := textOf(t, s.rest(t)); !strings.HasSuffix(got, "released") {
			t.Errorf("the rest is %q", got)
		}
	})
}

func TestClientDisconnects(t *testing.T) {
	everywhere(t, scripted, func(t *testing.T, c *client) {
		for _, words := range []string{"", "some words "} { // before the first event, and after it
			await := c.word + strings.TrimSpace(words)
			left := make(chan struct{})
			go func() {
				defer close(left)
				theModel.received.await(t, 10*time.Second, await, "the model receives the request")
			}()
			if words != "" {
				s := c.follow(t, question(text(script{Say: words, Await: await}), estate))
				<-left
				s.stop()
			} else {
				c.disconnectOn(t, question(text(script{Await: await}), estate), left)
			}
			theModel.canceled.await(t, 3*time.Second, await, "the model call is canceled when the client disconnects")
		}
	})
}
