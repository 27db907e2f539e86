package a2a

import (
	"context"
	"iter"
	"testing"

	"cairn/bus"
	"cairn/schemas"
)

// startingCaller starts runs with one event.
type startingCaller struct {
	Caller

	started func()
}

func (c startingCaller) NewRun(prefix string) string { return prefix }
func (c startingCaller) ReleaseBody()                { c.started() }

func (c startingCaller) Start(_ context.Context, newName func() string, _ []byte) iter.Seq2[bus.Event, error] {
	return func(yield func(bus.Event, error) bool) {
		newName()
		yield(bus.Event{Type: schemas.EventDone, Sequence: 1}, nil)
	}
}

// TestStartReleasesMessage checks that a message is not kept when its memory is released.
func TestStartReleasesMessage(t *testing.T) {
	t.Parallel()
	c := &call{}
	released := false
	c.caller = startingCaller{started: func() { released = c.message == nil }}
	var err error
	if c.message, err = readMessage(
		[]byte(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"q"},{"data":{}}]}}`)); err != nil {
		t.Fatal(err)
	}
	run, err := start(context.WithValue(t.Context(), callKey{}, c), true)
	if err != nil {
		t.Fatal(err)
	}
	run.close()
	if !released {
		t.Error("the decoded message was kept")
	}
}
