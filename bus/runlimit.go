package bus

import (
	"fmt"
	"sync"

	"cairn/schemas"
)

// runLimit bounds the runs that one credential has in progress at this worker. A run
// counts until its handler returns, with or without a connected client.
type runLimit struct {
	limit int // 0: no limit

	mu   sync.Mutex
	runs map[string]int // by the ID of the credential
}

// acquire counts a run of the credential until release. The error is
// schemas.ErrTooManyRequests. Callers without authentication are not limited.
func (l *runLimit) acquire(by *schemas.Identity) (release func(), err error) {
	if by == nil || l.limit <= 0 {
		return func() {}, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runs[by.ID] >= l.limit {
		return nil, schemas.ErrTooManyRequests.Because(fmt.Sprintf("the credential has %d streams in progress, its limit at a worker", l.limit))
	}
	l.runs[by.ID]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.runs[by.ID]--; l.runs[by.ID] == 0 {
			delete(l.runs, by.ID)
		}
	}, nil
}
