package projection

import "context"

// maxInFlight is the number of batches in progress: while the index applies one, the next
// is embedded.
const maxInFlight = 2

// work counts the batches in progress.
type work struct {
	groups chan struct{} // one element per batch in progress or being collected
	ended  chan struct{} // signals that a batch has ended
}

func newWork() work {
	return work{make(chan struct{}, maxInFlight), make(chan struct{}, 1)}
}

// wait waits until another batch may be collected.
func (w work) wait(ctx context.Context) error {
	select {
	case w.groups <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// end ends a batch.
func (w work) end() {
	<-w.groups
	select {
	case w.ended <- struct{}{}:
	default:
	}
}

// busy reports whether a batch is in progress besides the one being collected.
func (w work) busy() bool { return len(w.groups) > 1 }
