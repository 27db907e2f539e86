package usage

const MaxPending = maxPending

func (r *Recorder) Pending() (counters, sets int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.counters), len(r.sets)
}
