package a2a

import (
	"context"
	"fmt"
	"iter"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// guard is a RequestHandler that rejects invalid requests, and requests for features that the agent
// card does not declare, before it calls the agent. It returns errors of the protocol.
type guard struct{ agent a2asrv.RequestHandler }

// check returns an error for an invalid request, or for a tenant that the client may not act for.
func check(ctx context.Context, tenant string) error {
	c := callOf(ctx)
	if c.rejection != nil {
		return c.protocolError(c.rejection)
	}
	if err := c.caller.AuthorizeTenant(tenant); err != nil {
		return c.protocolError(err)
	}
	return nil
}

// withProtocolError returns the result of a method, and converts its error to one of the protocol.
func withProtocolError[T any](ctx context.Context, result T, err error) (T, error) {
	if err != nil {
		var none T
		return none, callOf(ctx).protocolError(err)
	}
	return result, nil
}

// GetTask implements a2asrv.RequestHandler.
func (g *guard) GetTask(ctx context.Context, r *a2a.GetTaskRequest) (*a2a.Task, error) {
	if err := check(ctx, r.Tenant); err != nil {
		return nil, err
	}
	task, err := g.agent.GetTask(ctx, r)
	return withProtocolError(ctx, withHistory(task, r.HistoryLength), err)
}

// ListTasks implements a2asrv.RequestHandler.
func (g *guard) ListTasks(ctx context.Context, r *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	if err := check(ctx, r.Tenant); err != nil {
		return nil, err
	}
	list, err := g.agent.ListTasks(ctx, r)
	if list != nil && list.Tasks == nil {
		list.Tasks = []*a2a.Task{} // not null
	}
	return withProtocolError(ctx, list, err)
}

// CancelTask implements a2asrv.RequestHandler.
func (g *guard) CancelTask(ctx context.Context, r *a2a.CancelTaskRequest) (*a2a.Task, error) {
	if err := check(ctx, r.Tenant); err != nil {
		return nil, err
	}
	task, err := g.agent.CancelTask(ctx, r)
	return withProtocolError(ctx, task, err)
}

// SendMessage implements a2asrv.RequestHandler.
func (g *guard) SendMessage(ctx context.Context, r *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	if err := check(ctx, r.Tenant); err != nil {
		return nil, err
	}
	result, err := g.agent.SendMessage(ctx, r)
	if task, ok := result.(*a2a.Task); ok && r.Config != nil {
		result = withHistory(task, r.Config.HistoryLength)
	}
	return withProtocolError(ctx, result, err)
}

// SendStreamingMessage implements a2asrv.RequestHandler.
func (g *guard) SendStreamingMessage(ctx context.Context, r *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return g.stream(ctx, r.Tenant, func() iter.Seq2[a2a.Event, error] { return g.agent.SendStreamingMessage(ctx, r) })
}

// SubscribeToTask implements a2asrv.RequestHandler.
func (g *guard) SubscribeToTask(ctx context.Context, r *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return g.stream(ctx, r.Tenant, func() iter.Seq2[a2a.Event, error] { return g.agent.SubscribeToTask(ctx, r) })
}

// stream yields the events of the stream that the handler has opened, or opens one.
func (g *guard) stream(ctx context.Context, tenant string,
	open func() iter.Seq2[a2a.Event, error]) iter.Seq2[a2a.Event, error] {
	if s := callOf(ctx).stream; s != nil {
		return s.events
	}
	return func(yield func(a2a.Event, error) bool) {
		if err := check(ctx, tenant); err != nil {
			yield(nil, err)
			return
		}
		for e, err := range open() {
			if err != nil {
				yield(nil, callOf(ctx).protocolError(err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// GetTaskPushConfig implements a2asrv.RequestHandler.
func (g *guard) GetTaskPushConfig(ctx context.Context, r *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error) {
	return nil, noPushNotifications(ctx, r.Tenant)
}

// ListTaskPushConfigs implements a2asrv.RequestHandler.
func (g *guard) ListTaskPushConfigs(ctx context.Context,
	r *a2a.ListTaskPushConfigRequest) (*a2a.ListTaskPushConfigResponse, error) {
	return nil, noPushNotifications(ctx, r.Tenant)
}

// CreateTaskPushConfig implements a2asrv.RequestHandler.
func (g *guard) CreateTaskPushConfig(ctx context.Context, r *a2a.PushConfig) (*a2a.PushConfig, error) {
	return nil, noPushNotifications(ctx, r.Tenant)
}

// DeleteTaskPushConfig implements a2asrv.RequestHandler.
func (g *guard) DeleteTaskPushConfig(ctx context.Context, r *a2a.DeleteTaskPushConfigRequest) error {
	return noPushNotifications(ctx, r.Tenant)
}

// noPushNotifications is the answer to requests that configure push notifications (3.3.4).
func noPushNotifications(ctx context.Context, tenant string) error {
	if err := check(ctx, tenant); err != nil {
		return err
	}
	return errPush
}

var errPush = a2a.NewError(a2a.ErrPushNotificationNotSupported,
	"push notifications are not supported; subscribe to the task, or poll it")

// GetExtendedAgentCard implements a2asrv.RequestHandler.
func (g *guard) GetExtendedAgentCard(ctx context.Context, r *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	if err := check(ctx, r.Tenant); err != nil {
		return nil, err
	}
	return nil, a2a.NewError(a2a.ErrUnsupportedOperation, "there is no extended agent card: the public one is complete")
}

// withHistory returns the task with the latest n messages of its history (3.2.4); nil: all.
func withHistory(task *a2a.Task, n *int) *a2a.Task {
	if task == nil || n == nil || len(task.History) <= *n {
		return task
	}
	short := *task
	short.History = slices.Clone(task.History[len(task.History)-*n:])
	return &short
}

// checkMedia returns an error unless the body is JSON, or of unknown type.
func checkMedia(r *http.Request) error {
	media := r.Header.Get("Content-Type")
	if kind, _, err := mime.ParseMediaType(media); media != "" && (err != nil || kind != mediaJSON) {
		return a2a.NewError(a2a.ErrUnsupportedContentType,
			fmt.Sprintf("Content-Type: expected %s, got %.100q", mediaJSON, media))
	}
	return nil
}

// checkVersion returns an error unless the client requests version 1.0 of the protocol.
// A request without a version has version 0.3 (3.6.2).
func checkVersion(r *http.Request) error {
	given := r.Header.Get(a2a.SvcParamVersion)
	if given == "" {
		given = r.URL.Query().Get(a2a.SvcParamVersion)
	}
	major, rest, _ := strings.Cut(given, ".")
	minor, _, _ := strings.Cut(rest, ".") // patch versions do not count
	if major+"."+minor == string(a2a.Version) {
		return nil
	}
	if given == "" {
		return a2a.NewError(a2a.ErrVersionNotSupported,
			"expected the "+a2a.SvcParamVersion+" 1.0 in the header; without one it is 0.3")
	}
	return a2a.NewError(a2a.ErrVersionNotSupported,
		fmt.Sprintf("expected the %s 1.0, got %.100q", a2a.SvcParamVersion, given))
}
