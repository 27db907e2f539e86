package a2a

import (
	"context"
	"iter"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"cairn/bus"
	"cairn/schemas"
	"cairn/test/wait"
)

// waitingCaller starts runs that wait after their first event until released is closed.
type waitingCaller struct {
	Caller

	started, released chan struct{}
}

func (c waitingCaller) AuthorizeTenant(string) error { return nil }
func (c waitingCaller) NewRun(prefix string) string  { return prefix }
func (c waitingCaller) Acquire(int64) bool           { return true }
func (c waitingCaller) ReleaseBody()                 { close(c.started) }

func (c waitingCaller) Start(_ context.Context, newName func() string, _ []byte) iter.Seq2[bus.Event, error] {
	return func(yield func(bus.Event, error) bool) {
		newName()
		if yield(bus.Event{Type: schemas.EventUsage, Data: []byte("{}"), Sequence: 1}, nil) {
			<-c.released
			yield(bus.Event{Type: schemas.EventDone, Sequence: 2}, nil)
		}
	}
}

// messageAgent has a weak pointer to the message that it receives.
type messageAgent struct {
	tasks

	message weak.Pointer[schemas.AgentMessage]
}

func (a *messageAgent) SendMessage(ctx context.Context, m *schemas.AgentMessage) (a2a.SendMessageResult, error) {
	a.message = weak.Make(m)
	return a.tasks.SendMessage(ctx, m)
}

func (a *messageAgent) SendStreamingMessage(ctx context.Context,
	m *schemas.AgentMessage) iter.Seq2[a2a.Event, error] {
	a.message = weak.Make(m)
	return a.tasks.SendStreamingMessage(ctx, m)
}

// TestMessageIsReleased checks that a decoded message is not kept while its run continues.
func TestMessageIsReleased(t *testing.T) {
	t.Parallel()
	for _, method := range []string{methodSend, methodStream} {
		c := waitingCaller{started: make(chan struct{}), released: make(chan struct{})}
		agent := &messageAgent{}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, Path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(a2a.SvcParamVersion, "1.0")
		body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"message":{"messageId":"m","role":"ROLE_USER",` +
			`"parts":[{"text":"q"},{"data":{}}]}}}`
		ended := make(chan string)
		go func() {
			reply, events := New(agent).Serve(r, []byte(body), c)
			if events != nil {
				for e := range events {
					reply = e.Data
				}
			}
			ended <- string(reply)
		}()
		<-c.started
		wait.Until(t, method+" releases the message", func() bool {
			runtime.GC()
			return agent.message.Value() == nil
		})
		close(c.released)
		if last := <-ended; !strings.Contains(last, "TASK_STATE_COMPLETED") {
			t.Error(last)
		}
	}
}
