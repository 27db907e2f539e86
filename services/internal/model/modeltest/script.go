package modeltest

import (
	"slices"
	"sync"
)

// Script has the turns that a server plays, one for each request of type R. It is safe for concurrent use.
type Script[R any] struct {
	disconnects chan struct{}

	mu       sync.Mutex
	turns    []Turn
	requests []R
}

// NewScript returns a script of turns.
func NewScript[R any](turns []Turn) *Script[R] {
	return &Script[R]{disconnects: make(chan struct{}, 64), turns: turns}
}

// Next records a request and returns its turn; false at the end of the script.
func (s *Script[R]) Next(req R) (turn Turn, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, req)
	if len(s.turns) == 0 {
		return turn, false
	}
	turn, s.turns = s.turns[0], s.turns[1:]
	return turn, true
}

// Requests returns the chat requests so far.
func (s *Script[R]) Requests() []R {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Disconnect records that a client has disconnected while its turn hangs or waits at its gate.
func (s *Script[R]) Disconnect() {
	select {
	case s.disconnects <- struct{}{}:
	default: // tests receive fewer
	}
}

// Disconnects receives a value for each call of Disconnect.
func (s *Script[R]) Disconnects() <-chan struct{} { return s.disconnects }
