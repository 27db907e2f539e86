package bus

import (
	"testing"
	"time"

	"cairn/bus/replay"
)

// TestPersistEndsTheGracePeriod: the client has disconnected before the handler calls Persist.
func TestPersistEndsTheGracePeriod(t *testing.T) {
	t.Parallel()
	s := &streamServer{stream: Stream[any]{Grace: time.Hour}}
	w := &session{streamServer: s, replay: &replay.Writer{}, flow: newFlow("")}
	w.cancel = func(err error) { t.Errorf("the run is canceled: %v", err) }
	w.disconnected()
	if w.graceTimer == nil {
		t.Fatal("no grace period after the disconnect")
	}
	w.Persist()
	if w.graceTimer != nil {
		t.Error("the grace period has not ended")
	}
	w.expire() // had begun before Persist
}
