package usage

const MaxPending = maxPending

func (r *Recorder) Pending() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.counts)
}
