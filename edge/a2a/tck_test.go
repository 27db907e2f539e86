package a2a_test

import (
	"context"
	stdjson "encoding/json"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
	"github.com/go-json-experiment/json"

	"cairn/edge/a2a"
	"cairn/schemas"
)

// TestRealCompatibility runs the tests of level MUST of the Technology Compatibility Kit of
// the protocol in the directory CAIRN_A2A_TCK, with the Python packages that it requires. The
// kit needs an agent whose tasks it controls, so the handlers have one of the SDK.
func TestRealCompatibility(t *testing.T) {
	directory := os.Getenv("CAIRN_A2A_TCK")
	if directory == "" {
		t.Skip("needs CAIRN_A2A_TCK, the directory of the Technology Compatibility Kit")
	}
	everyone := func(context.Context) (string, error) { return "kit", nil }
	store := taskstore.NewInMemory(&taskstore.InMemoryStoreConfig{Authenticator: everyone})
	url := serve(t, kit{a2asrv.NewHandler(kitAgent{}, a2asrv.WithTaskStore(store))}, caller{})
	reports := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "python3", "-m", "pytest", "tests/compatibility", "--sut-host", url, "-m",
		"must", "-rs", "-q",
		"-p", "no:cacheprovider",
		// The kit counts the error that it requires here as a failure.
		"--deselect", "tests/compatibility/core_operations/test_requirements.py::test_must_requirement[CORE-SEND-003-jsonrpc]",
		"--junitxml", filepath.Join(reports, "junit.xml"), "--compatibility-report", filepath.Join(reports, "report"))
	cmd.Dir = directory
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	must(t, err)
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "SKIPPED") && !strings.Contains(strings.ToLower(line), "grpc") {
			t.Log(line)
		}
	}
}

// serve serves the handlers of the agent as an edge does, and returns the URL.
func serve(t *testing.T, agent a2a.Agent, c a2a.Caller) string {
	t.Helper()
	h := a2a.New(agent)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/agent-card.json", func(w http.ResponseWriter, r *http.Request) {
		card, err := a2a.Card("http://"+r.Host, false, nil)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "max-age=300")
		w.Header().Set("ETag", `"1"`)
		_, _ = w.Write(card)
	})
	rpc := func(w http.ResponseWriter, r *http.Request) {
		reply, events := h.Serve(r, read(t, r), c)
		if events == nil {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(reply)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for e := range events {
			_, _ = w.Write(e.Append(nil))
			_ = http.NewResponseController(w).Flush()
		}
	}
	mux.HandleFunc("POST "+a2a.Path, rpc)
	mux.HandleFunc("POST "+a2a.Path+"/{$}", rpc) // the HTTP client of the kit adds the slash
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

// kit is a handler of the SDK whose tasks can also be subscribed to while they wait for input.
type kit struct{ a2asrv.RequestHandler }

// request returns a message as the SDK decodes it.
func request(m *schemas.AgentMessage) (*sdk.SendMessageRequest, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	r := &sdk.SendMessageRequest{}
	return r, stdjson.Unmarshal(text, r)
}

func (k kit) GetTask(ctx context.Context, r *sdk.GetTaskRequest) (*sdk.Task, error) {
	task, err := k.RequestHandler.GetTask(ctx, r)
	return withHistory(task, r.HistoryLength), err
}

// withHistory returns the task with the latest n messages of its history (3.2.4); nil: all.
func withHistory(task *sdk.Task, n *int) *sdk.Task {
	if task == nil || n == nil || len(task.History) <= *n {
		return task
	}
	short := *task
	short.History = task.History[len(task.History)-*n:]
	return &short
}

func (k kit) ListTasks(ctx context.Context, r *sdk.ListTasksRequest) (*sdk.ListTasksResponse, error) {
	list, err := k.RequestHandler.ListTasks(ctx, r)
	if list != nil && list.Tasks == nil {
		list.Tasks = []*sdk.Task{} // not null
	}
	return list, err
}

func (k kit) SendMessage(ctx context.Context, m *schemas.AgentMessage) (sdk.SendMessageResult, error) {
	r, err := request(m)
	if err != nil {
		return nil, err
	}
	result, err := k.RequestHandler.SendMessage(ctx, r)
	if task, ok := result.(*sdk.Task); ok && r.Config != nil {
		result = withHistory(task, r.Config.HistoryLength)
	}
	return result, err
}

func (k kit) SendStreamingMessage(ctx context.Context, m *schemas.AgentMessage) iter.Seq2[sdk.Event, error] {
	r, err := request(m)
	if err != nil {
		return func(yield func(sdk.Event, error) bool) { yield(nil, err) }
	}
	return k.RequestHandler.SendStreamingMessage(ctx, r)
}

func (k kit) SubscribeToTask(ctx context.Context, r *sdk.SubscribeToTaskRequest) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) {
		get := &sdk.GetTaskRequest{ID: r.ID}
		task, err := k.GetTask(ctx, get)
		if err == nil && task.Status.State.Terminal() {
			err = sdk.ErrUnsupportedOperation
		}
		if err != nil {
			yield(nil, err)
			return
		}
		if !yield(task, nil) {
			return
		}
		changed := time.NewTicker(20 * time.Millisecond)
		defer changed.Stop()
		for !task.Status.State.Terminal() {
			select {
			case <-ctx.Done():
				return
			case <-changed.C:
			}
			if task, err = k.GetTask(ctx, get); err != nil {
				yield(nil, err)
				return
			}
		}
		yield(sdk.NewStatusUpdateEvent(task, task.Status.State, nil), nil)
	}
}

// kitAgent does what the messageId of a message says, as the scenarios of the kit define.
type kitAgent struct{}

func (kitAgent) Execute(ctx context.Context, e *a2asrv.ExecutorContext) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) {
		begins := func(prefix string) bool { return strings.HasPrefix(e.Message.ID, prefix) }
		if begins("tck-message-response") {
			yield(sdk.NewMessage(sdk.MessageRoleAgent, sdk.NewTextPart("Direct message response")), nil)
			return
		}
		var events []sdk.Event
		if e.StoredTask == nil {
			events = append(events, sdk.NewSubmittedTask(e, e.Message))
		}
		status := func(s sdk.TaskState, text string) sdk.Event {
			if text == "" {
				return sdk.NewStatusUpdateEvent(e, s, nil)
			}
			return sdk.NewStatusUpdateEvent(e, s, sdk.NewMessageForTask(sdk.MessageRoleAgent, e, sdk.NewTextPart(text)))
		}
		artifact := func(p *sdk.Part) { events = append(events, sdk.NewArtifactEvent(e, p)) }
		end := status(sdk.TaskStateCompleted, "Hello from TCK")
		switch {
		case begins("tck-artifact-text"):
			artifact(sdk.NewTextPart("Generated text content"))
		case begins("tck-artifact-file-url"):
			artifact(&sdk.Part{Content: sdk.URL("https://example.com/output.txt"), Filename: "output.txt",
				MediaType: "text/plain"})
		case begins("tck-artifact-file"), begins("tck-stream-artifact-file"):
			artifact(&sdk.Part{Content: sdk.Raw("output"), Filename: "output.txt", MediaType: "text/plain"})
		case begins("tck-artifact-data"):
			artifact(sdk.NewDataPart(map[string]any{"key": "value", "count": 42}))
		case begins("tck-input-required"):
			end = status(sdk.TaskStateInputRequired, "")
		case begins("tck-reject-task"):
			end = status(sdk.TaskStateRejected, "rejected")
		case begins("tck-stream-artifact-chunked"):
			events = append(events, status(sdk.TaskStateWorking, ""))
			first := sdk.NewArtifactEvent(e, sdk.NewTextPart("chunk-1 "))
			last := sdk.NewArtifactUpdateEvent(e, first.Artifact.ID, sdk.NewTextPart("chunk-2"))
			last.LastChunk = true
			events = append(events, first, last)
		case begins("tck-stream"):
			events = append(events, status(sdk.TaskStateWorking, ""))
			artifact(sdk.NewTextPart("Stream hello from TCK"))
		}
		for _, event := range append(events, end) {
			if !yield(event, nil) {
				return
			}
		}
	}
}

func (kitAgent) Cancel(_ context.Context, e *a2asrv.ExecutorContext) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) {
		yield(sdk.NewStatusUpdateEvent(e, sdk.TaskStateCanceled, nil), nil)
	}
}
