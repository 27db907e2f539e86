package projection

import (
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/services/internal/catalog"
)

// read decodes the messages. A message that is not a record yields a revision only.
func read(messages []jetstream.Msg) []catalog.Change {
	var changes []catalog.Change
	for _, m := range messages {
		if c, err := catalog.ReadChange(m); err == nil || errors.Is(err, catalog.ErrBadKey) {
			changes = append(changes, c)
		}
	}
	return changes
}

// size returns the mean size of the messages.
func size(messages []jetstream.Msg) int {
	sum := 0
	for _, m := range messages {
		sum += len(m.Data())
	}
	return sum / len(messages)
}

// revisions returns the revisions of the rejected changes, or of all others.
func revisions(changes []catalog.Change, rejected map[uint64]string, wanted bool) (list []uint64) {
	for _, c := range changes {
		if _, ok := rejected[c.Revision]; ok == wanted {
			list = append(list, c.Revision)
		}
	}
	return list
}

// extendAckWait extends the ack deadline of the messages until release is called.
func extendAckWait(messages []jetstream.Msg, every time.Duration) (release func()) {
	done := make(chan struct{})
	var working sync.WaitGroup
	working.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			for _, m := range messages {
				_ = m.InProgress() // a lost message is followed by the next
			}
		}
	})
	return func() {
		close(done)
		working.Wait()
	}
}

// requeue requeues the messages after a delay. Without it, they could be delivered to a pull request of
// this worker that it no longer reads.
func requeue(messages []jetstream.Msg) {
	for _, m := range messages {
		_ = m.NakWithDelay(firstRetry) // a lost message is redelivered after AckWait
	}
}
