package a2a_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"cairn/bus"
	"cairn/edge/a2a"
	"cairn/schemas"
)

// script returns the events, each "type data".
func script(events ...string) (list []bus.Event) {
	for i, e := range events {
		kind, data, _ := strings.Cut(e, " ")
		list = append(list, bus.Event{Type: kind, Sequence: uint64(i + 1), Data: []byte(data)})
	}
	return list
}

// answer is the events of an analysis.
var answer = script(
	`tool_use {"tool_call_id":"c1","name":"compute_stats","input":{"data_key":"items"}}`,
	`tool_result {"tool_call_id":"c1","result":{"total":2}}`,
	`text_delta {"text":"There are "}`, `text_delta {"text":"2."}`,
	`provenance {"figures":[]}`, `usage {"tool_calls":1}`, `unknown {}`, `done {}`)

// client is a client of the handlers.
type client struct {
	caller
	url string
}

func open(t *testing.T, r *runs) *client {
	t.Helper()
	r.started = map[string]chan struct{}{}
	c := caller{r}
	return &client{c, serve(t, a2a.Tasks(), c)}
}

// send sends the body and returns the response.
func (c *client) send(t *testing.T, body string, header ...string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url+a2a.Path, strings.NewReader(body))
	must(t, err)
	r.Header.Set("A2A-Version", "1.0")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	must(t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%d %v", res.StatusCode, err)
	}
	return string(text)
}

// rpc returns a request of the method.
func rpc(method, params string) string {
	return `{"jsonrpc":"2.0","id":"1","method":"` + method + `","params":` + params + `}`
}

// call calls a method and decodes its result.
func (c *client) call(t *testing.T, method, params string, result any) {
	t.Helper()
	body := c.send(t, rpc(method, params))
	res := struct{ Result any }{result}
	if err := json.Unmarshal([]byte(body), &res); err != nil || strings.Contains(body, `"error"`) {
		t.Fatalf("%s: %s: %v", method, body, err)
	}
}

// task sends a message and returns the task of the response.
func (c *client) task(t *testing.T, message string) *sdk.Task {
	t.Helper()
	var result sdk.StreamResponse
	c.call(t, "SendMessage", message, &result)
	return result.Event.(*sdk.Task)
}

// message returns a request to send the parts.
func message(parts string, members ...string) string {
	return `{"message":{"messageId":"m","role":"ROLE_USER","parts":[` + parts + `]` + strings.Join(members, "") + `}}`
}

const question = `{"text":"how many?"},{"data":[{"a":1}]}`

// TestAnalysisOfMessage translates messages to requests for an analysis.
func TestAnalysisOfMessage(t *testing.T) {
	t.Parallel()
	const base = `"include":["provenance","usage"]`
	file := base64.StdEncoding.EncodeToString([]byte(`[{"a":"é"}]`))
	for _, row := range []struct{ name, body, want string }{
		{"text and data", message(question), `{"target":"H",` + base + `,"query":"how many?","context":"[{\"a\":1}]"}`},
		{"texts", message(`{"text":"a"},{"text":"b"},{"data":{}}`),
			`{"target":"H",` + base + `,"query":"a\nb","context":"{}"}`},
		{"data that are a text", message(`{"text":"a"},{"data":"[1]"}`),
			`{"target":"H",` + base + `,"query":"a","context":"[1]"}`},
		{"a file", message(`{"raw":"` + file + `","mediaType":"application/json","filename":"x.json"},{"text":"a"}`),
			`{"target":"H",` + base + `,"query":"a","context":"[{\"a\":\"é\"}]"}`},
		{"no estate", message(`{"text":"a"}`), `{"target":"H",` + base + `,"query":"a"}`},
		{"options", message(question,
			`,"metadata":{"other":1,"cairn":{"mode":"broad","include":[],"context":"x","on_disconnect":"cancel"}}`),
			`{"target":"H","mode":"broad","include":[],"on_disconnect":"cancel","query":"how many?","context":"[{\"a\":1}]"}`},
		{"options of the request", strings.TrimSuffix(message(question), "}") + `,"metadata":{"cairn":{"id":"x"}}}`,
			`{"target":"H",` + base + `,"id":"x","query":"how many?","context":"[{\"a\":1}]"}`},
		{"text only", strings.TrimSuffix(message(question), "}") + `,"configuration":{"acceptedOutputModes":["text/plain"]}}`,
			`{"target":"H","include":["usage"],"query":"how many?","context":"[{\"a\":1}]"}`},
		{"a task that continues", strings.TrimSuffix(message(question), "}") + `,"configuration":{"returnImmediately":true}}`,
			`{"target":"H",` + base + `,"on_disconnect":"continue","query":"how many?","context":"[{\"a\":1}]"}`},
	} {
		c := open(t, &runs{script: answer})
		c.task(t, row.body)
		if diff := cmp.Diff(row.want, c.bodies[0]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

// TestTask translates events to a task, in a response and in a stream alike.
func TestTask(t *testing.T) {
	t.Parallel()
	c := open(t, &runs{script: answer})
	sent := c.task(t, message(question))
	body, err := json.Marshal(sent)
	must(t, err)
	got := strings.NewReplacer(string(sent.ID), "TASK", sent.ContextID, "CONTEXT").Replace(string(body))
	const want = `{"id":"TASK","artifacts":[` +
		`{"artifactId":"answer","name":"answer","parts":[{"text":"There are 2.","mediaType":"text/markdown"}]},` +
		`{"artifactId":"provenance","description":"the tool result that each figure of the answer comes from","name":"provenance",` +
		`"parts":[{"data":{"figures":[]},"mediaType":"application/json"}]},` +
		`{"artifactId":"tool_calls","description":"the calls that computed the figures, with their results","name":"tool_calls",` +
		`"parts":[{"data":{"input":{"data_key":"items"},"name":"compute_stats","result":{"total":2},"tool_call_id":"c1"},"mediaType":"application/json"}]}],` +
		`"contextId":"CONTEXT","metadata":{"usage":{"tool_calls":1}},"status":{"state":"TASK_STATE_COMPLETED"}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, request := range []string{rpc("GetTask", `{"id":"`+string(sent.ID)+`"}`),
		rpc("ListTasks", `{"includeArtifacts":true}`)} {
		if body := c.send(t, request); !strings.Contains(body, "There are 2.") {
			t.Errorf("%s: %s", request, body)
		}
	}
	stream := c.send(t, rpc("SendStreamingMessage", message(question)))
	last := -1
	for _, part := range []string{
		`"result":{"task":{"id":`, `"state":"TASK_STATE_WORKING"`, `"metadata":{"tool_use":{"tool_call_id":"c1",`,
		`{"artifactUpdate":{"artifact":{"artifactId":"tool_calls"`, `"text":"There are "`, `{"artifactUpdate":{"append":true`,
		`"text":"2."`,
		`"artifactId":"provenance"`, `"metadata":{"usage":{"tool_calls":1}}`, `"state":"TASK_STATE_COMPLETED"`,
	} {
		index := strings.Index(stream, part)
		if index <= last {
			t.Errorf("%s at %d, expected it after %d in:\n%s", part, index, last, stream)
		}
		last = index
	}
}

// TestFailedTasks gives tasks the state of their last events.
func TestFailedTasks(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		event string
		state sdk.TaskState
		part  string
	}{
		{`error {"code":"AN-500","message":"analysis failed"}`, sdk.TaskStateFailed, "AN-500 analysis failed"},
		{`error {"code":"AN-410","message":"run stopped: on request"}`, sdk.TaskStateCanceled, "AN-410 run stopped"},
		{`direct_response {"text":"plain","code":"AN-503","reason":"no renderer"}`, sdk.TaskStateCompleted, "no renderer"},
	} {
		c := open(t, &runs{script: script(`text_delta {"text":"a"}`, row.event, `done {}`)})
		task := c.task(t, message(question))
		body, _ := json.Marshal(task)
		if task.Status.State != row.state || !strings.Contains(string(body), row.part) {
			t.Errorf("%s: %s", row.event, body)
		}
	}
}

// TestRejections answers invalid requests with the field and the expected value.
func TestRejections(t *testing.T) {
	t.Parallel()
	c := open(t, &runs{script: answer})
	ended := string(c.task(t, message(question)).ID)
	big := `{"id":"` + strings.Repeat("x", 17<<10) + `"}`
	const send, stream = "SendMessage", "SendStreamingMessage"
	for _, row := range []struct {
		name, method, params string
		code                 int
		part                 string
	}{
		{"no message", send, `{}`, -32602, `"field":"message"`},
		{"no message to stream", stream, `{}`, -32602, `"field":"message"`},
		{"another type", send, `{"message":{"messageId":7}}`, -32602,
			`{"description":"expected a string, got a number","field":"message.messageId"}`},
		{"no parts", send, message(""), -32602, `"field":"message.parts"`},
		{"too many parts", stream, message(strings.Repeat(`{"text":"a"},`, 32) + `{"text":"a"}`), -32602,
			"expected 1 to 32 items, got 33"},
		{"a part with two values", send, message(`{"text":"a","data":1}`), -32602, `"field":"message.parts[0]"`},
		{"another role", stream, strings.Replace(message(question), "USER", "AGENT", 1), -32602, `"field":"message.role"`},
		{"a file without base64", send, message(`{"raw":"?"}`), -32602, "expected base64"},
		{"two estates", send, message(`{"data":1},{"data":2}`), -32602, "expected one part with data or a file"},
		{"a contextId of another form", send, message(question, `,"contextId":"mine"`), -32602,
			`"field":"message.contextId"`},
		{"metadata that are no object", send, message(question, `,"metadata":7`), -32602,
			"message.metadata: expected an object"},
		{"options that are no object", send, message(question, `,"metadata":{"cairn":7}`), -32602,
			"message.metadata.cairn: expected an object"},
		{"a URL", send, message(`{"url":"https://a"}`), -32005, "CONTENT_TYPE_NOT_SUPPORTED"},
		{"an unknown media type", stream, message(`{"text":"a","mediaType":"image/png"}`), -32005,
			"CONTENT_TYPE_NOT_SUPPORTED"},
		{"an unknown task", send, message(question, `,"taskId":"x"`), -32001, "TASK_NOT_FOUND"},
		{"a task that has ended", stream, message(question, `,"taskId":"`+ended+`"`), -32004, "UNSUPPORTED_OPERATION"},
		{"another context of the task", send, message(question, `,"taskId":"`+ended+`","contextId":"x"`), -32602,
			`"field":"message.contextId"`},
		{"push notifications", send,
			`{"configuration":{"taskPushNotificationConfig":{"url":"https://a"}},"message":` + message(question)[11:], -32003,
			"PUSH_NOTIFICATION_NOT_SUPPORTED"},
		{"a negative historyLength", send, `{"configuration":{"historyLength":-1},"message":` + message(question)[11:],
			-32602,
			`"field":"configuration.historyLength"`},
		{"another tenant", send, `{"tenant":"globex","message":` + message(question)[11:], -31403, `"field":"tenant"`},
		{"another tenant of a stream", stream, `{"tenant":"globex","message":` + message(question)[11:], -31403,
			`"field":"tenant"`},
		{"another tenant of a list", "ListTasks", `{"tenant":"globex"}`, -31403, `"field":"tenant"`},
		{"another tenant of a subscription", "SubscribeToTask", `{"id":"x","tenant":"globex"}`, -31403, `"field":"tenant"`},
		{"no task", "GetTask", `{}`, -32602, `"field":"id"`},
		{"an id that is no text", "GetTask", `{"id":7}`, -32602, `"field":"id"`},
		{"a task of another client", "GetTask", `{"id":"` + strings.TrimSuffix(ended, "-suffix") + `"}`, -32001,
			"TASK_NOT_FOUND"},
		{"a subscription to an unknown task", "SubscribeToTask", `{"id":"x"}`, -32001, "TASK_NOT_FOUND"},
		{"a subscription to a task that has ended", "SubscribeToTask", `{"id":"` + ended + `"}`, -32004,
			"UNSUPPORTED_OPERATION"},
		{"canceling a task that has ended", "CancelTask", `{"id":"` + ended + `"}`, -32002, "TASK_NOT_CANCELABLE"},
		{"parameters that are too large", "CancelTask", big, -32602, "expected at most 16384 bytes"},
		{"a historyLength that is no number", "GetTask", `{"id":"` + ended + `","historyLength":"x"}`, -32602,
			`"field":"historyLength"`},
		{"a page that is too large", "ListTasks", `{"pageSize":101}`, -32602, "expected 1 to 100, got 101"},
		{"names of Protocol Buffers", "ListTasks", `{"page_size":101}`, -32602, "expected 1 to 100, got 101"},
		{"an unknown state", "ListTasks", `{"status":"DONE"}`, -32602, `"field":"status"`},
		{"a time of another form", "ListTasks", `{"statusTimestampAfter":"now"}`, -32602, `"field":"statusTimestampAfter"`},
		{"an unknown page", "ListTasks", `{"pageToken":"x"}`, -32602, `"field":"pageToken"`},
		{"a push configuration", "CreateTaskPushNotificationConfig", `{"taskId":"` + ended + `","url":"https://a"}`, -32003,
			"PUSH_NOTIFICATION_NOT_SUPPORTED"},
		{"the extended card", "GetExtendedAgentCard", `{}`, -32004, "UNSUPPORTED_OPERATION"},
		{"an unknown method", "message/send", `{}`, -32601, `"id":"1"`},
	} {
		body := c.send(t, rpc(row.method, row.params))
		if !strings.Contains(body, fmt.Sprintf(`"error":{"code":%d`, row.code)) || !strings.Contains(body, row.part) {
			t.Errorf("%s: %s, want %d with %s", row.name, body, row.code, row.part)
		}
	}
	for _, row := range []struct {
		name, body string
		code       int
		part       string
	}{
		{"no JSON", `{`, -32700, "not valid JSON at byte"},
		{"no object", `[]`, -32600, ""},
		{"a member twice", rpc(send, `{"message":{},"message":{}}`), -32700, "appears twice"},
		{"another version", `{"jsonrpc":"1.0","id":1,"method":"SendStreamingMessage"}`, -32600, ""},
		{"an id of another type", `{"jsonrpc":"2.0","id":{},"method":"GetTask"}`, -32600, ""},
	} {
		if body := c.send(t, row.body); !strings.Contains(body, fmt.Sprintf(`"error":{"code":%d`, row.code)) ||
			!strings.Contains(body, row.part) {
			t.Errorf("%s: %s, want %d with %s", row.name, body, row.code, row.part)
		}
	}
	if n := len(c.bodies); n != 1 {
		t.Errorf("%d analyses were started, want 1", n)
	}
}

// TestHeaders rejects other versions of the protocol and other media types.
func TestHeaders(t *testing.T) {
	t.Parallel()
	c := open(t, &runs{script: answer})
	for version, accepted := range map[string]bool{"1.0": true, "1.0.1": true, "": false, "0.3": false, "1.1": false,
		"1":   false,
		"x.y": false} {
		body := c.send(t, rpc("ListTasks", "{}"), "A2A-Version", version)
		if accepted == strings.Contains(body, "-32009") {
			t.Errorf("version %q: %s", version, body)
		}
	}
	for media, accepted := range map[string]bool{"application/json": true, "application/json; charset=utf-8": true,
		"text/plain": false, "x": false} {
		body := c.send(t, rpc("SendMessage", message(question)), "Content-Type", media)
		if accepted == strings.Contains(body, "CONTENT_TYPE_NOT_SUPPORTED") {
			t.Errorf("%q: %s", media, body)
		}
	}
}

// TestFailures answers with the error of the bus when no task has begun.
func TestFailures(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		err  error
		code int
		part string
	}{
		{schemas.ErrAnalysisMalformed.With(schemas.FieldError{Field: "context", Message: "not valid JSON"}), -32602,
			`{"description":"data or file: not valid JSON","field":"message.parts"}`},
		{schemas.ErrAnalysisMalformed.With(schemas.FieldError{Field: "mode", Message: "expected broad"}), -32602,
			`"message":"AN-400 malformed analysis request: message.metadata.cairn.mode: expected broad"`},
		{schemas.ErrAnalysisUnavailable.Because("NATS is unavailable"), -32603, `"code":"AN-503"`},
		{schemas.ErrAnalysisTooManyRequests, -32603, `"code":"AN-429"`},
		{schemas.ErrAnalysisTimeout, -32603, `"code":"AN-504"`},
		{errors.New("defect"), -32603, `"code":"AN-500"`},
	} {
		for _, method := range []string{"SendMessage", "SendStreamingMessage"} {
			c := open(t, &runs{fail: row.err})
			body := c.send(t, rpc(method, message(question)))
			if !strings.HasPrefix(body, fmt.Sprintf(`{"jsonrpc":"2.0","id":"1","error":{"code":%d`, row.code)) ||
				!strings.Contains(body, row.part) {
				t.Errorf("%v of %s: %s", row.err, method, body)
			}
			if len(c.bodies) != 1 {
				t.Errorf("%v: %d runs were started, want one", row.err, len(c.bodies))
			}
		}
	}
}

// TestMemory rejects an answer that exceeds the memory of the edge, and cancels the task.
func TestMemory(t *testing.T) {
	t.Parallel()
	c := open(t, &runs{script: script(`text_delta {"text":"` + strings.Repeat("x", 300<<10) + `"}`), block: true})
	if body := c.send(t, rpc("SendMessage", message(question))); !strings.Contains(body, "--body-memory") {
		t.Error(body)
	}
	for name, canceled := range c.started {
		select {
		case <-canceled:
		default:
			t.Errorf("the run %s continues", name)
		}
	}
}

// TestCancel cancels a task that runs, and returns it in its last state.
func TestCancel(t *testing.T) {
	t.Parallel()
	c := open(t, &runs{script: script(`text_delta {"text":"some "}`), block: true})
	task := c.task(t, strings.TrimSuffix(message(question), "}")+`,"configuration":{"returnImmediately":true}}`)
	if task.Status.State != sdk.TaskStateWorking {
		t.Errorf("state %s", task.Status.State)
	}
	body := c.send(t, rpc("CancelTask", `{"id":"`+string(task.ID)+`"}`))
	if !strings.Contains(body, "TASK_STATE_CANCELED") || !strings.Contains(body, "some ") {
		t.Error(body)
	}
}

// TestConversation keeps the contextId of a client, which the id of the task contains.
func TestConversation(t *testing.T) {
	t.Parallel()
	c := open(t, &runs{script: answer})
	first := c.task(t, message(question))
	second := c.task(t, message(question, `,"contextId":"`+first.ContextID+`"`))
	if second.ContextID != first.ContextID || second.ID == first.ID {
		t.Errorf("%s %s after %s %s", second.ID, second.ContextID, first.ID, first.ContextID)
	}
	c.task(t, message(question))
	for params, want := range map[string]int{`{"contextId":"` + first.ContextID + `"}`: 2, "{}": 3,
		`{"status":"TASK_STATE_COMPLETED"}`: 3,
		`{"status":"TASK_STATE_WORKING"}`:   0, `{"status":"TASK_STATE_FAILED"}`: 0} {
		var list sdk.ListTasksResponse
		c.call(t, "ListTasks", params, &list)
		if list.Tasks == nil || len(list.Tasks) != want || list.TotalSize != want || list.NextPageToken != "" {
			t.Errorf("%q: %+v, want %d tasks", params, list, want)
		}
	}
	seen := map[sdk.TaskID]bool{}
	for token, pages := "", 0; pages < 3; pages++ {
		var list sdk.ListTasksResponse
		c.call(t, "ListTasks", `{"pageSize":1,"pageToken":"`+token+`"}`, &list)
		if len(list.Tasks) != 1 || list.Tasks[0].Artifacts != nil {
			t.Fatalf("%+v", list)
		}
		seen[list.Tasks[0].ID], token = true, list.NextPageToken
		if last := pages == 2; last != (token == "") {
			t.Errorf("token %q after page %d", token, pages)
		}
	}
	if len(seen) != 3 {
		t.Errorf("%d tasks in pages, want 3", len(seen))
	}
}

// TestLargeTasksEndPage lists tasks with long answers: a page ends after 1 MiB of events, and the pages contain
// each task once.
func TestLargeTasksEndPage(t *testing.T) {
	t.Parallel()
	part := `text_delta {"text":"` + strings.Repeat("x", 100<<10) + `"}`
	c := open(t, &runs{script: script(part, part, part, part, "done {}")})
	const perPage, pages = 3, 3
	for range perPage * pages {
		c.task(t, message(question))
	}
	c.reads.Store(0)
	seen := map[sdk.TaskID]bool{}
	for token, page := "", 1; page <= pages; page++ {
		var list sdk.ListTasksResponse
		c.call(t, "ListTasks", `{"pageToken":"`+token+`"}`, &list)
		if len(list.Tasks) != perPage || list.TotalSize != perPage*pages {
			t.Fatalf("%d tasks of %d, want %d of %d", len(list.Tasks), list.TotalSize, perPage, perPage*pages)
		}
		for _, task := range list.Tasks {
			seen[task.ID] = true
		}
		token = list.NextPageToken
		if n := c.reads.Load(); n != int64(page)*perPage || (token == "") != (page == pages) {
			t.Errorf("page %d: token %q after %d reads, want %d", page, token, n, page*perPage)
		}
	}
	if len(seen) != perPage*pages {
		t.Errorf("%d tasks in pages, want %d", len(seen), perPage*pages)
	}
}

// TestDisconnect ends the request of a client that disconnects while it waits for a task, and
// cancels the task.
func TestDisconnect(t *testing.T) {
	t.Parallel()
	c := open(t, &runs{script: script(`text_delta {"text":"some "}`), block: true})
	ctx, cancel := context.WithCancel(t.Context())
	body := strings.NewReader(rpc("SendStreamingMessage", message(question)))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+a2a.Path, body)
	must(t, err)
	r.Header.Set("A2A-Version", "1.0")
	res, err := http.DefaultClient.Do(r)
	must(t, err)
	part := make([]byte, 1024)
	if _, err := res.Body.Read(part); err != nil {
		t.Fatal(err)
	}
	cancel()
	_ = res.Body.Close()
	for name, canceled := range c.started {
		select {
		case <-canceled:
			t.Errorf("the task %s was canceled; expected it to continue", name)
		default:
		}
	}
}

// TestCard names the interfaces, and how clients authenticate.
func TestCard(t *testing.T) {
	t.Parallel()
	text, err := a2a.Card("https://cairn.example.com", true, []string{"https://issuer.example.com/"})
	must(t, err)
	var card schemas.AgentCard
	if err := json.Unmarshal(text, &card); err != nil || len(card.Check()) > 0 {
		t.Errorf("%v %v", err, card.Check())
	}
	for _, part := range []string{`"https://cairn.example.com/a2a"`, `"scheme":"Bearer"`,
		`"https://issuer.example.com/.well-known/openid-configuration"`, `{"schemes":{"bearer":[]}}`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
	if open, err := a2a.Card("http://a", false, nil); err != nil || strings.Contains(string(open), "security") {
		t.Errorf("%v %s", err, open)
	}
}
