package projection

import "context"

// atOnce is how many groups of changes are at work: while the index takes one,
// the next is embedded.
const atOnce = 2

// work is what is being applied.
type work struct {
	groups chan struct{} // as many as are at work, and the one that is collected
	ended  chan struct{} // has something when one has ended since it was looked at
}

func newWork() work {
	return work{make(chan struct{}, atOnce), make(chan struct{}, 1)}
}

// begin waits until another group may be collected.
func (w work) begin(ctx context.Context) error {
	select {
	case w.groups <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// end says that a group is at work no more.
func (w work) end() {
	<-w.groups
	select {
	case w.ended <- struct{}{}:
	default:
	}
}

// busy reports whether one is at work, beside the one that is collected.
func (w work) busy() bool { return len(w.groups) > 1 }
