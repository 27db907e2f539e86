package a2a

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"cairn/bus"
	"cairn/schemas"
)

const (
	// announceDelay is the time without an event after which a client receives its task. It exceeds
	// confirmTimeout of package bus, because an announced run cannot be retried as a new run.
	announceDelay = 3 * time.Second
	// cancelTimeout bounds the wait for the end of a canceled task.
	cancelTimeout = 5 * time.Second
	// maxAnswer bounds the events of a task in a response that contains all of them, in bytes.
	maxAnswer = 16 << 20
	// copies is the memory that such a response takes per byte of its events.
	copies = 4
	// defaultPageSize is the length of a list of tasks without a pageSize (3.1.4).
	defaultPageSize = 50
	// listBytes ends a list of tasks before its pageSize, when the events of its tasks have as many bytes.
	listBytes = 1 << 20
)

// tasks is the agent whose tasks are runs of an analysis. It has no state.
type tasks struct{}

// Tasks returns the agent whose tasks are runs of an analysis.
func Tasks() Agent { return tasks{} }

// encodedUUID is the length of an encoded UUID in a task id.
var encodedUUID = base64.RawURLEncoding.EncodedLen(len(uuid.UUID{}))

// newTaskID returns a task id: a random part, and the contextId, which GetTask restores from it.
func newTaskID(conversation uuid.UUID) string {
	random := uuid.New()
	return base64.RawURLEncoding.EncodeToString(random[:]) + base64.RawURLEncoding.EncodeToString(conversation[:])
}

// conversationOf returns the contextId of a task, and false for an id that newTaskID does not create.
func conversationOf(id string) (contextID string, ok bool) {
	name, _, _ := strings.Cut(id[min(len(id), 2*encodedUUID):], "-") // of a client with tenants, a suffix follows
	if len(id) < 2*encodedUUID || name != "" {
		return "", false
	}
	raw, err := base64.RawURLEncoding.DecodeString(id[encodedUUID : 2*encodedUUID])
	if err != nil {
		return "", false
	}
	return uuid.UUID(raw).String(), true
}

// load returns a task of the client in its current state, or an error unless the client may access it.
func load(ctx context.Context, id a2a.TaskID) (*task, error) {
	contextID, ok := conversationOf(string(id))
	if !ok || !callerOf(ctx).Owns(string(id)) {
		return nil, notFound(string(id))
	}
	t := &task{id: string(id), contextID: contextID}
	return t, t.collect(ctx, callerOf(ctx).Snapshot(ctx, t.id))
}

// GetTask implements Agent.
func (tasks) GetTask(ctx context.Context, r *a2a.GetTaskRequest) (*a2a.Task, error) {
	t, err := load(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	return t.snapshot(), nil
}

// SendMessage implements Agent. A client that disconnects while it waits
// cancels the task, whose id it does not know.
func (tasks) SendMessage(ctx context.Context, m *schemas.AgentMessage) (a2a.SendMessageResult, error) {
	later := m.Config != nil && m.Config.ReturnImmediately
	run, err := start(ctx, (*message)(m), later)
	if err != nil {
		return nil, err
	}
	defer run.close()
	if later {
		return run.task.snapshot(), nil
	}
	if err := run.task.collect(ctx, run.events); err != nil {
		return nil, errors.Join(err, run.abandon(ctx))
	}
	return run.task.snapshot(), nil
}

// SendStreamingMessage implements Agent. The task continues after the client
// has disconnected (3.5.2).
func (tasks) SendStreamingMessage(ctx context.Context, m *schemas.AgentMessage) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		run, err := start(ctx, (*message)(m), true)
		m = nil // its memory is released
		if err != nil {
			yield(nil, err)
			return
		}
		defer run.close()
		if yield(run.task.snapshot(), nil) {
			run.task.follow(run.events, yield)
		}
	}
}

// SubscribeToTask implements Agent.
func (tasks) SubscribeToTask(ctx context.Context, r *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		t, err := load(ctx, r.ID)
		if err == nil && t.ended() {
			err = a2a.NewError(a2a.ErrUnsupportedOperation,
				fmt.Sprintf("the task has ended: %s; get it with GetTask", t.state()))
		}
		if err != nil {
			yield(nil, err)
			return
		}
		if yield(t.snapshot(), nil) {
			t.follow(callerOf(ctx).Resume(ctx, t.id, t.last), yield)
		}
	}
}

// CancelTask implements Agent.
func (tasks) CancelTask(ctx context.Context, r *a2a.CancelTaskRequest) (*a2a.Task, error) {
	t, err := load(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	if t.ended() {
		return nil, a2a.NewError(a2a.ErrTaskNotCancelable, fmt.Sprintf("the task has ended: %s", t.state()))
	}
	caller := callerOf(ctx)
	if err := caller.Cancel(ctx, t.id); err != nil {
		return nil, err
	}
	limited, stop := context.WithTimeout(ctx, cancelTimeout)
	defer stop()
	if err := t.collect(limited, caller.Resume(limited, t.id, t.last)); err != nil && limited.Err() == nil {
		return nil, err
	}
	return t.snapshot(), nil
}

// run is a new run, which a worker has confirmed or which has sent an event.
type run struct {
	*feed
	task *task
}

// abandon cancels a run whose client does not know it.
func (r *run) abandon(ctx context.Context) error {
	if r.task.ended() {
		return nil
	}
	return callerOf(ctx).Cancel(context.WithoutCancel(ctx), r.task.id)
}

// start starts the run for the message of the request and waits up to announceDelay for its
// first event.
func start(ctx context.Context, m *message, persist bool) (*run, error) {
	caller := callerOf(ctx)
	if err := rejectTask(ctx, m.Message); err != nil {
		return nil, err
	}
	conversation, err := m.conversation()
	if err != nil {
		return nil, err
	}
	body, err := m.analysis(persist)
	if err != nil {
		return nil, err
	}
	f := newFeed(ctx, func(ctx context.Context, f *feed) iter.Seq2[bus.Event, error] {
		newName := func() string { return f.rename(caller.NewRun(newTaskID(conversation))) }
		return caller.Start(ctx, newName, body)
	})
	if err := f.waitFirst(announceDelay); err != nil {
		f.close()
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			err = errors.Join(err, caller.Cancel(context.WithoutCancel(ctx), f.name))
		}
		return nil, m.renameFields(err)
	}
	caller.ReleaseBody()
	return &run{f, &task{id: f.name, contextID: conversation.String()}}, nil
}

// rejectTask returns an error for a message that names a task: an analysis does not
// accept further messages.
func rejectTask(ctx context.Context, m *schemas.AgentContent) error {
	if m.TaskID == "" {
		return nil
	}
	t, err := load(ctx, a2a.TaskID(m.TaskID))
	switch {
	case err != nil:
		return err
	case m.ContextID != "" && m.ContextID != t.contextID:
		return invalid("message.contextId", "expected the contextId of the task, or none")
	default:
		return a2a.NewError(a2a.ErrUnsupportedOperation, fmt.Sprintf(
			"the task does not accept further messages: %s; send the message without taskId", t.state()))
	}
}

// feed reads the events of a run in a goroutine, so that the wait for the first one is bounded.
type feed struct {
	name   string        // of the run, after waitFirst
	names  chan string   // of attempts to start the run
	named  chan struct{} // closed when the name is final
	items  chan item
	first  []item
	cancel context.CancelFunc
	ended  chan struct{}
}

type item struct {
	event bus.Event
	err   error
}

func newFeed(ctx context.Context, open func(context.Context, *feed) iter.Seq2[bus.Event, error]) *feed {
	ctx, cancel := context.WithCancel(ctx)
	f := &feed{names: make(chan string), named: make(chan struct{}), items: make(chan item), cancel: cancel,
		ended: make(chan struct{})}
	go func() {
		defer close(f.ended)
		defer close(f.items)
		for event, err := range open(ctx, f) {
			select {
			case f.items <- item{event, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return f
}

// rename names the next attempt to start the run. It returns "" if the name is final.
func (f *feed) rename(name string) string {
	select {
	case f.names <- name:
		return name
	case <-f.named:
		return ""
	}
}

// waitFirst waits for the first event. It returns its error, or nil when the delay has passed since
// the last attempt to start the run.
func (f *feed) waitFirst(delay time.Duration) error {
	defer close(f.named)
	var expired <-chan time.Time
	for {
		select {
		case f.name = <-f.names:
			expired = time.After(delay)
		case i, ok := <-f.items:
			if !ok {
				return context.Canceled
			}
			f.first = []item{i}
			return i.err
		case <-expired:
			return nil
		}
	}
}

func (f *feed) events(yield func(bus.Event, error) bool) {
	for _, i := range f.first {
		if !yield(i.event, i.err) {
			return
		}
	}
	for i := range f.items {
		if !yield(i.event, i.err) {
			return
		}
	}
}

// close ends the feed. The run continues.
func (f *feed) close() {
	f.cancel()
	<-f.ended
}

// ListTasks implements Agent. A page has the tasks among the next pageSize
// ones that match, so it may have fewer; listBytes may end it before.
func (tasks) ListTasks(ctx context.Context, r *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	caller := callerOf(ctx)
	runs, err := caller.Stored(ctx)
	if err != nil {
		return nil, err
	}
	runs = slices.DeleteFunc(runs, func(s bus.StoredRun) bool { return !matchesList(r, s) })
	page := &a2a.ListTasksResponse{Tasks: []*a2a.Task{}, TotalSize: len(runs),
		PageSize: cmp.Or(r.PageSize, defaultPageSize)}
	updated := func(s bus.StoredRun) time.Time { return s.Updated }
	runs, page.NextPageToken, err = bus.PageOfRuns(runs, updated, r.PageToken, page.PageSize)
	if err != nil {
		return nil, invalid("pageToken", "expected the nextPageToken of a response")
	}
	size := 0
	for i, s := range runs {
		if size >= listBytes {
			_, page.NextPageToken, err = bus.PageOfRuns(runs, updated, "", i)
			return page, err
		}
		t, err := load(ctx, a2a.TaskID(s.Name))
		if errors.Is(err, a2a.ErrTaskNotFound) || errors.Is(err, schemas.ErrRunNotFound) { // it has expired
			continue
		}
		if err != nil {
			return nil, err
		}
		size += t.size
		snapshot := t.snapshot()
		if r.Status != "" && snapshot.Status.State != r.Status { // it has ended since
			continue
		}
		if snapshot.Status.Timestamp = new(s.Updated.UTC()); !r.IncludeArtifacts {
			snapshot.Artifacts = nil
		}
		page.Tasks = append(page.Tasks, snapshot)
	}
	return page, nil
}

// storedStates maps the state of a stored run to the state of its task.
var storedStates = map[string]a2a.TaskState{
	schemas.RunRunning: a2a.TaskStateWorking, schemas.RunDone: a2a.TaskStateCompleted,
	schemas.RunFailed: a2a.TaskStateFailed, schemas.RunCanceled: a2a.TaskStateCanceled,
}

// matchesList reports whether the run may be a task of the list.
func matchesList(r *a2a.ListTasksRequest, s bus.StoredRun) bool {
	contextID, ok := conversationOf(s.Name)
	switch {
	case !ok || r.ContextID != "" && r.ContextID != contextID:
		return false
	case r.StatusTimestampAfter != nil && !s.Updated.After(*r.StatusTimestampAfter):
		return false
	default:
		return r.Status == "" || r.Status == storedStates[s.State]
	}
}
