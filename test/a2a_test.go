package test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"

	"cairn/schemas"
)

// agentMessage returns a message to the analysis agent, with further members.
func agentMessage(parts string, members ...string) string {
	return `{"message":{"messageId":"m","role":"ROLE_USER","parts":[` + parts + `]` + strings.Join(members, "") + `}}`
}

// agentCall returns a request of A2A.
func agentCall(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
}

// startTask starts a task with the question and returns its id when it has sent an event.
func (c *client) startTask(t testing.TB, question string) string {
	t.Helper()
	body := strings.TrimSuffix(agentMessage(`{"text":`+text(question)+`},{"data":[{"a":1}]}`),
		"}") + `,"configuration":{"returnImmediately":true}}`
	var answer struct {
		Result struct{ Task struct{ ID string } }
	}
	response := c.do(t, "POST /a2a", agentCall("SendMessage", body))
	if err := json.Unmarshal([]byte(response.body), &answer); err != nil || answer.Result.Task.ID == "" {
		t.Fatalf("no task: %v", err)
	}
	return answer.Result.Task.ID
}

// agent returns the official client of A2A for the analysis agent.
func (c *client) agent(t testing.TB) *a2aclient.Client {
	t.Helper()
	h := &http.Client{Transport: withCredential{c}}
	card, err := agentcard.NewResolver(h).Resolve(t.Context(), c.base)
	must(t, err)
	agent, err := a2aclient.NewFromCard(t.Context(), card, a2aclient.WithJSONRPCTransport(h))
	must(t, err)
	t.Cleanup(func() { _ = agent.Destroy() })
	return agent
}

// ask returns a message with the question and an estate.
func ask(question string) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(question),
		a2a.NewDataPart([]map[string]any{{"site": "Oslo"}, {"site": "Bergen"}}))}
}

// answerOf returns the text of the answer of a task.
func answerOf(task *a2a.Task) string {
	for _, artifact := range task.Artifacts {
		if artifact.ID == "answer" {
			return artifact.Parts[0].Text()
		}
	}
	return ""
}

// TestAgent sends messages to the analysis agent with the official client.
func TestAgent(t *testing.T) {
	everywhere(t, resumable, func(t *testing.T, c *client) {
		agent := c.agent(t)
		count := script{Calls: []toolCall{{"compute_stats", map[string]any{"data_key": "items", "group_by": "site"}}},
			Say: "Two sites. "}
		result, err := agent.SendMessage(t.Context(), ask(text(count)))
		if err != nil {
			t.Fatalf("%v", err)
		}
		task := result.(*a2a.Task)
		if task.Status.State != a2a.TaskStateCompleted || !strings.Contains(answerOf(task), "Two sites.") {
			t.Errorf("%+v", task)
		}
		body, _ := json.Marshal(task)
		for _, want := range []string{`"Oslo":1`, `"tool_calls"`, `"usage"`} {
			if !strings.Contains(string(body), want) {
				t.Errorf("no %s in %s", want, body)
			}
		}
		again, err := c.at(c.secondEdge).agent(t).GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID})
		if second, _ := json.Marshal(again); err != nil || string(second) != string(body) {
			t.Errorf("another edge: %v %s, want %s", err, second, body)
		}
		list, err := agent.ListTasks(t.Context(), &a2a.ListTasksRequest{ContextID: task.ContextID})
		if err != nil || len(list.Tasks) != 1 || list.Tasks[0].ID != task.ID {
			t.Errorf("%v %+v", err, list)
		}
	})
}

// TestAgentResubscribes disconnects from a task, and subscribes to it at another edge: the
// task continues, and no part of the answer is lost.
func TestAgentResubscribes(t *testing.T) {
	everywhere(t, resumable, func(t *testing.T, c *client) {
		word := c.word + "b"
		ctx, disconnect := context.WithCancel(t.Context())
		var id a2a.TaskID
		for event, err := range c.agent(t).SendStreamingMessage(ctx, ask(text(script{Say: "some words ", Await: word}))) {
			if err != nil {
				t.Fatalf("%v", err)
			}
			id = event.TaskInfo().TaskID
			if _, ok := event.(*a2a.TaskArtifactUpdateEvent); ok {
				break
			}
		}
		disconnect()
		got, last := "", a2a.TaskStateUnspecified
		for event, err := range c.at(c.secondEdge).agent(t).SubscribeToTask(t.Context(),
			&a2a.SubscribeToTaskRequest{ID: id}) {
			switch e := event.(type) {
			case *a2a.Task:
				got = answerOf(e)
				theModel.released.set(word)
			case *a2a.TaskArtifactUpdateEvent:
				if e.Artifact.ID == "answer" {
					got += e.Artifact.Parts[0].Text()
				}
			case *a2a.TaskStatusUpdateEvent:
				last = e.Status.State
			}
			if err != nil {
				t.Errorf("%v", err)
			}
		}
		if got != "some words released" || last != a2a.TaskStateCompleted {
			t.Errorf("%q, %s", got, last)
		}
		for _, err := range c.agent(t).SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: id}) {
			if !errors.Is(err, a2a.ErrUnsupportedOperation) {
				t.Errorf("a task that has ended: %v", err)
			}
		}
	})
}

// TestAgentCancel cancels a task at another edge than the one that started it.
func TestAgentCancel(t *testing.T) {
	everywhere(t, resumable, func(t *testing.T, c *client) {
		word := c.word + "c"
		id := a2a.TaskID(c.startTask(t, text(script{Say: "some words ", Await: word})))
		agent := c.at(c.secondEdge).agent(t)
		task, err := agent.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: id})
		if err != nil || task.Status.State != a2a.TaskStateCanceled || !strings.HasPrefix(answerOf(task), "some") {
			t.Errorf("%v %+v", err, task)
		}
		theModel.canceled.await(t, 5*time.Second, word, "the model call is canceled")
		if _, err := agent.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: id}); !errors.Is(err,
			a2a.ErrTaskNotCancelable) {
			t.Errorf("canceled again: %v", err)
		}
	})
}

// TestAgentAccess requires a credential with the permission analyze, and shows a tenant its
// own tasks only.
func TestAgentAccess(t *testing.T) {
	everywhere(t, authenticated, func(t *testing.T, c *client) {
		mine := c.withRole(t, schemas.RoleAnalyst, "$")
		id := a2a.TaskID(mine.startTask(t, text(script{Say: "done "})))
		if _, err := mine.agent(t).GetTask(t.Context(), &a2a.GetTaskRequest{ID: id}); err != nil {
			t.Errorf("%v", err)
		}
		other := c.withRole(t, schemas.RoleAnalyst, "$2").agent(t)
		if _, err := other.GetTask(t.Context(), &a2a.GetTaskRequest{ID: id}); !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("another tenant: %v", err)
		}
		if list, err := other.ListTasks(t.Context(), &a2a.ListTasksRequest{}); err != nil || len(list.Tasks) != 0 {
			t.Errorf("another tenant lists %+v, %v", list, err)
		}
		for caller, want := range map[*client]int{c.with(""): 401, c.with("wrong"): 401,
			c.withRole(t, schemas.RoleReader, "$"): 403} {
			a := caller.call(t, "POST /a2a", agentCall("SendMessage", agentMessage(`{"text":"a"},{"data":[]}`)))
			if a.status != want {
				t.Errorf("%d %s, want %d", a.status, a.body, want)
			}
		}
		if a := mine.call(t, "POST /a2a", agentCall("SendMessage",
			`{"tenant":"$2","message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":[]}]}}`)); !strings.Contains(a.body,
			"-31403") {
			t.Errorf("a message for another tenant: %d %s", a.status, a.body)
		}
	})
}

// TestAgentRejections answers invalid messages with the invalid fields.
func TestAgentRejections(t *testing.T) {
	everywhere(t, scripted, func(t *testing.T, c *client) {
		large := `{"text":"a"},{"data":"` + strings.Repeat("x", 11<<20) + `"}`
		for _, row := range []struct {
			name, body string
			status     int
			want       string
		}{
			{"no estate", agentMessage(`{"text":"a"}`), 200, `"field":"message.parts"`},
			{"an estate that is not JSON", agentMessage(`{"text":"a"},{"raw":"e30x"}`), 200, `"field":"message.parts[1].raw"`},
			{"an option of the analysis", agentMessage(`{"text":"a"},{"data":[]}`, `,"metadata":{"cairn":{"mode":"narrow"}}`),
				200,
				`"field":"message.metadata.cairn.mode"`},
			{"a body beyond the limit", agentMessage(large), 413, "expected at most"},
		} {
			for _, method := range []string{"SendMessage", "SendStreamingMessage"} {
				a := c.call(t, "POST /a2a", agentCall(method, row.body))
				if a.status != row.status || !strings.Contains(a.body, row.want) {
					t.Errorf("%s with %s: %d %s, want %d with %s", row.name, method, a.status, truncated(a.body), row.status, row.want)
				}
			}
		}
	})
}

// TestAgentWithoutWorker answers with AN-503.
func TestAgentWithoutWorker(t *testing.T) {
	everywhere(t, workerless, func(t *testing.T, c *client) {
		for _, method := range []string{"SendMessage", "SendStreamingMessage"} {
			a := c.call(t, "POST /a2a", agentCall(method, agentMessage(`{"text":"a"},{"data":[]}`)))
			if a.status != 200 || !strings.Contains(a.body, "AN-503") {
				t.Errorf("%s: %d %s", method, a.status, a.body)
			}
		}
	})
}

// TestAgentCards reads the public card and the cards of registered agents, and searches for them.
func TestAgentCards(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		a := c.call(t, "GET /.well-known/agent-card.json", "")
		tag := a.header.Get("ETag")
		if a.status != 200 || tag == "" || !strings.Contains(a.header.Get("Cache-Control"), "max-age=") ||
			!strings.Contains(a.body,
				c.base+"/a2a") {
			t.Errorf("%d %v %s", a.status, a.header, a.body)
		}
		if again := c.call(t, "GET /.well-known/agent-card.json", "", "If-None-Match: "+tag); again.status != 304 ||
			again.body != "" {
			t.Errorf("with its entity tag: %d %s", again.status, again.body)
		}
		const card = `{"name":"Zeppelin $","description":"d","version":"1","url":"https://a.example.com","skills":[` +
			`{"id":"s","name":"n","description":"Moors airships at $mast","tags":["t"],"examples":["which $hangar is free?"]}],"further":1}`
		c.put(t, [2]string{"agent", `{"agent_id":"$.a","tenant_id":"$","agent_card":` + card + `}`}, [2]string{"agent",
			`{"agent_id":"$.b","tenant_id":"$"}`})
		a = c.call(t, "GET /agents/$.a/card?tenant_id=$", "")
		if tag = a.header.Get("ETag"); a.status != 200 || a.body != c.named(card) || tag == "" {
			t.Errorf("%d %s", a.status, a.body)
		}
		if again := c.call(t, "GET /agents/$.a/card?tenant_id=$", "", "If-None-Match: "+tag); again.status != 304 {
			t.Errorf("with its entity tag: %d", again.status)
		}
		for _, query := range []string{"Zeppelin $", "airships at $mast", "which $hangar is free?"} {
			if a := c.call(t, "POST /resolve/agent", `{"tenant_id":"$","query":"`+query+`"}`); a.status != 200 ||
				!strings.Contains(a.body,
					c.word+".a") {
				t.Errorf("%s: %d %s", query, a.status, a.body)
			}
		}
		c.rows(t, []row{
			{"an agent without a card", "GET /agents/$.b/card?tenant_id=$", "", 404, "CE-081", ""},
			{"an unknown agent", "GET /agents/$.x/card", "", 404, "CE-081", ""},
			{"an unknown parameter", "GET /agents/$.a/card?kind=skill", "", 400, "CE-001 kind", ""},
			{"a card without a name", "POST /register/agent",
				`{"agent_data":{"agent_id":"$.c","agent_card":` + strings.Replace(card, "Zeppelin $", "", 1) + `}}`, 400,
				"CE-061 agent_data.agent_card.name", ""},
		})
	})
}
