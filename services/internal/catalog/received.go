package catalog

import "time"

// received tracks which changes a follower has received. A follower whose consumer or replica lags
// may skip the newest revision of a record: received determines when no such revision is missing.
// The package documentation has a diagram of its states.
type received struct {
	newest   uint64 // highest revision
	complete uint64 // watermark: no change up to it is missing, see Change.Watermark
	consumed uint64 // last revision from the consumer

	// awaited is the number of further messages of the consumer that include the changes it has skipped;
	// 0: none. In the states unfenced and fenced it may be positive, too.
	awaited uint64
	// unfenced is true in the states unfenced and fenced: skipped changes may be in any replica.
	unfenced bool
	// fence is the revision of the fence, written after the last skipped change; 0: not in state fenced.
	fence uint64
	// fencedAt is the time of the last attempt to write a fence.
	fencedAt time.Time
}

// fromConsumer records that the consumer has delivered c. If revisions were skipped, the replica of
// the consumer has their successors among the pending messages. The replica of another consumer may
// lag.
func (r *received) fromConsumer(c Change) {
	if c.First {
		r.loseConsumer()
	}
	if c.Revision > max(r.consumed, r.complete)+1 {
		r.awaited = c.pending
	} else if r.awaited > 0 {
		r.awaited--
	}
	r.consumed = c.Revision
}

// fromReplica records that c was read from any replica.
func (r *received) fromReplica(c Change) {
	if c.Revision > r.newest+1 {
		r.unfence()
	}
}

// loseConsumer leaves the state consuming, because the consumer was replaced or has stalled.
func (r *received) loseConsumer() {
	if r.awaited > 0 {
		r.unfence()
	}
}

func (r *received) unfence() { r.unfenced, r.fence, r.awaited = true, 0, 0 }

// add adds a revision after fromConsumer or fromReplica, and reports whether it is the newest one.
func (r *received) add(revision uint64) (newest bool) {
	r.passFence(revision)
	if r.gapless() {
		r.complete = max(r.complete, revision)
	}
	newest = revision > r.newest
	r.newest = max(r.newest, revision)
	return newest
}

// passFence leaves the state fenced if the revision, which was received, is the fence or a later one.
func (r *received) passFence(revision uint64) {
	if r.fence > 0 && revision >= r.fence {
		r.unfenced, r.fence = false, 0
	}
}

// gapless reports whether every skipped change, if any, has been received or superseded.
func (r *received) gapless() bool { return r.awaited == 0 && !r.unfenced }

// needsFence reports whether a fence is due, at most once in idleTimeout.
func (r *received) needsFence() bool {
	return r.unfenced && r.fence == 0 && time.Since(r.fencedAt) >= idleTimeout
}

// setFence records that a fence was written, and reports whether all changes up to it were received.
func (r *received) setFence(fence uint64) bool {
	r.fence = fence
	r.passFence(r.newest)
	return r.gapless()
}

// setComplete records that no change up to the newest one is missing.
func (r *received) setComplete() {
	*r = received{newest: r.newest, complete: r.newest, consumed: r.consumed, fencedAt: r.fencedAt}
}
