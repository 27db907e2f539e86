package admission

import "sync"

// Limit bounds how many units each key holds.
type Limit struct {
	most int

	mu   sync.Mutex
	held map[string]int // absent: 0
}

// NewLimit returns a limit of most units for each key; 0 is no limit.
func NewLimit(most int) *Limit { return &Limit{most: most, held: map[string]int{}} }

// Acquire takes a unit for the key until release is called, once. It returns false if the key
// holds as many as the limit.
func (l *Limit) Acquire(key string) (release func(), ok bool) {
	if l.most <= 0 {
		return func() {}, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[key] >= l.most {
		return nil, false
	}
	l.held[key]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.held[key]--; l.held[key] == 0 {
			delete(l.held, key)
		}
	}, true
}
