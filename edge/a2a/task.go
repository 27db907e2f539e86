package a2a

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/go-json-experiment/json"

	"cairn/bus"
	"cairn/schemas"
)

// Media types of messages and artifacts.
const (
	mediaText     = "text/plain"
	mediaMarkdown = "text/markdown"
	mediaJSON     = "application/json"
)

// Artifacts of a task.
const (
	artifactAnswer     = "answer"
	artifactProvenance = "provenance"
	artifactToolCalls  = "tool_calls"
)

// task is the state of a run after the event with the sequence last. It depends only on the events,
// so all clients receive the same state.
type task struct {
	id, contextID string

	last       uint64
	size       int // of the events, in bytes
	answer     strings.Builder
	degraded   string // reason why the answer was not rendered
	calls      []toolCall
	results    []toolCall // in the order of the results
	provenance stdjson.RawMessage
	usage      stdjson.RawMessage
	failure    *schemas.StreamError
	finished   a2a.TaskState // empty: the task has not ended
}

// toolCall is a tool call of an analysis, with its result.
type toolCall struct {
	ID     string             `json:"tool_call_id"`
	Name   string             `json:"name"`
	Input  stdjson.RawMessage `json:"input"`
	Result stdjson.RawMessage `json:"result,omitempty"`
}

func (t *task) ended() bool { return t.finished != "" }

func (t *task) state() a2a.TaskState {
	if t.ended() {
		return t.finished
	}
	return a2a.TaskStateWorking
}

// collect applies all events. A task fails if its worker is lost.
func (t *task) collect(ctx context.Context, events iter.Seq2[bus.Event, error]) error {
	caller := callerOf(ctx)
	for event, err := range events {
		if err != nil {
			return t.lost(err)
		}
		if t.size += len(event.Data); t.size > maxAnswer || !caller.Acquire(copies*int64(len(event.Data))) {
			return schemas.ErrAnalysisUnavailable.Because("the answer is too large for the memory of the edge (--body-memory)")
		}
		if _, err := t.apply(event); err != nil {
			return err
		}
	}
	return nil
}

// lost records that the run ended without its last event; other errors are returned.
func (t *task) lost(err error) error {
	var e *schemas.Error
	switch {
	case errors.Is(err, schemas.ErrRunNotFound):
		return notFound(t.id)
	case errors.As(err, &e) && errors.Is(err, schemas.ErrRunStopped):
		t.failure = &schemas.StreamError{Code: e.Code, Message: e.Message()}
		t.finished = a2a.TaskStateFailed
		return nil
	default:
		return err
	}
}

// follow yields an update for each event until the task has ended.
func (t *task) follow(events iter.Seq2[bus.Event, error], yield func(a2a.Event, error) bool) {
	for event, err := range events {
		if err == nil {
			var update a2a.Event
			if update, err = t.apply(event); err == nil && update != nil && !yield(update, nil) {
				return
			}
		} else if err = t.lost(err); err == nil {
			yield(t.update(nil), nil)
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
	}
}

// apply applies the event to the task and returns the update for the client, or nil.
func (t *task) apply(e bus.Event) (a2a.Event, error) {
	t.last = e.Sequence
	switch e.Type {
	case schemas.EventTextDelta:
		var delta schemas.TextDelta
		if err := json.Unmarshal(e.Data, &delta); err != nil {
			return nil, err
		}
		begun := t.answer.Len() > 0
		t.answer.WriteString(delta.Text)
		return t.artifact(t.answerArtifact(delta.Text), begun), nil
	case schemas.EventDirectResponse:
		var direct schemas.DirectResponse
		if err := json.Unmarshal(e.Data, &direct); err != nil {
			return nil, err
		}
		t.answer.Reset()
		t.answer.WriteString(direct.Text)
		t.degraded = direct.Reason
		return t.artifact(t.answerArtifact(direct.Text), false), nil
	case schemas.EventToolUse:
		var call toolCall
		if err := stdjson.Unmarshal(e.Data, &call); err != nil {
			return nil, err
		}
		t.calls = append(t.calls, call)
	case schemas.EventToolResult:
		var result toolCall
		if err := stdjson.Unmarshal(e.Data, &result); err != nil {
			return nil, err
		}
		index := slices.IndexFunc(t.calls, func(c toolCall) bool { return c.ID == result.ID })
		if index < 0 {
			return nil, nil
		}
		t.calls[index].Result = result.Result
		t.results = append(t.results, t.calls[index])
		return t.artifact(toolCallsArtifact(t.calls[index]), len(t.results) > 1), nil
	case schemas.EventProvenance:
		t.provenance = e.Data
		return t.artifact(t.provenanceArtifact(), false), nil
	case schemas.EventUsage:
		t.usage = e.Data
	case schemas.EventError:
		t.failure = &schemas.StreamError{}
		return nil, json.Unmarshal(e.Data, t.failure)
	case schemas.EventDone:
		t.finished = t.endState()
		return t.update(nil), nil
	default:
		return nil, nil
	}
	return t.update(map[string]any{e.Type: stdjson.RawMessage(e.Data)}), nil
}

// endState returns the state of a task with the event done.
func (t *task) endState() a2a.TaskState {
	switch {
	case t.failure == nil:
		return a2a.TaskStateCompleted
	case t.failure.Code == schemas.ErrRunStopped.Code:
		return a2a.TaskStateCanceled
	default:
		return a2a.TaskStateFailed
	}
}

// status returns the status, with the failure as its message.
func (t *task) status() a2a.TaskStatus {
	status := a2a.TaskStatus{State: t.state()}
	if t.ended() && t.failure != nil {
		status.Message = &a2a.Message{
			ID: t.id + "-end", TaskID: a2a.TaskID(t.id), ContextID: t.contextID, Role: a2a.MessageRoleAgent,
			Parts: a2a.ContentParts{a2a.NewTextPart(t.failure.Code + " " + t.failure.Message)},
		}
	}
	return status
}

// update returns the status as an event.
func (t *task) update(metadata map[string]any) a2a.Event {
	return &a2a.TaskStatusUpdateEvent{TaskID: a2a.TaskID(t.id), ContextID: t.contextID, Status: t.status(),
		Metadata: metadata}
}

// artifact returns the artifact, or its next part, as an event.
func (t *task) artifact(a *a2a.Artifact, appended bool) a2a.Event {
	return &a2a.TaskArtifactUpdateEvent{TaskID: a2a.TaskID(t.id), ContextID: t.contextID, Artifact: a, Append: appended}
}

func (t *task) answerArtifact(text string) *a2a.Artifact {
	a := &a2a.Artifact{ID: artifactAnswer, Name: artifactAnswer,
		Parts: a2a.ContentParts{{Content: a2a.Text(text), MediaType: mediaMarkdown}}}
	if t.degraded != "" {
		a.Metadata = map[string]any{"degraded": t.degraded}
	}
	return a
}

func (t *task) provenanceArtifact() *a2a.Artifact {
	return &a2a.Artifact{
		ID: artifactProvenance, Name: artifactProvenance,
		Description: "the tool result that each figure of the answer comes from",
		Parts:       a2a.ContentParts{{Content: a2a.Data{Value: t.provenance}, MediaType: mediaJSON}},
	}
}

// toolCallsArtifact returns the calls, each as a part with data.
func toolCallsArtifact(calls ...toolCall) *a2a.Artifact {
	a := &a2a.Artifact{ID: artifactToolCalls, Name: artifactToolCalls,
		Description: "the calls that computed the figures, with their results"}
	for _, c := range calls {
		a.Parts = append(a.Parts, &a2a.Part{Content: a2a.Data{Value: c}, MediaType: mediaJSON})
	}
	return a
}

// snapshot returns the task.
func (t *task) snapshot() *a2a.Task {
	all := &a2a.Task{ID: a2a.TaskID(t.id), ContextID: t.contextID, Status: t.status()}
	if t.answer.Len() > 0 {
		all.Artifacts = append(all.Artifacts, t.answerArtifact(t.answer.String()))
	}
	if t.provenance != nil {
		all.Artifacts = append(all.Artifacts, t.provenanceArtifact())
	}
	if len(t.results) > 0 {
		all.Artifacts = append(all.Artifacts, toolCallsArtifact(t.results...))
	}
	if t.usage != nil {
		all.SetMeta(schemas.EventUsage, t.usage)
	}
	return all
}
