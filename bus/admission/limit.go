package admission

import "sync"

// Limit bounds how many units each key holds.
type Limit struct {
	perKey int

	mu   sync.Mutex
	held map[string]int // absent: 0
}

// NewLimit returns a limit of perKey units for each key; 0 is no limit.
func NewLimit(perKey int) *Limit { return &Limit{perKey: perKey, held: map[string]int{}} }

// Acquire takes a unit for the key, or returns false if the key has reached its limit. The caller
// calls release once.
func (l *Limit) Acquire(key string) (release func(), ok bool) {
	if l.perKey <= 0 {
		return func() {}, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[key] >= l.perKey {
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
