package overload

// Stop ends the run of a started request.
func (s *Slot) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
}
