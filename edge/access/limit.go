package access

import (
	"math"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"cairn/schemas"
)

// Limits bound what one credential may ask of one edge.
type Limits struct {
	Rate    float64 // requests a second, and as many at once; 0: any
	Streams int     // event streams open at a time; 0: any. Workers count runs (bus.Stream.Runs)
}

// remembered is how many credentials' rates are kept. One that is pushed out
// begins anew.
const remembered = 1 << 16

type limiter struct {
	limits Limits
	rates  *lru.Cache[string, *rate.Limiter]

	mu   sync.Mutex
	open map[string]int // streams, by credential
}

func newLimiter(l Limits) *limiter {
	rates, _ := lru.New[string, *rate.Limiter](remembered) // fails for a size below 1
	return &limiter{limits: l, rates: rates, open: map[string]int{}}
}

// Admit counts a request of by, and is schemas.ErrTooManyRequests with the time
// after which the next one may come, when there were too many.
func (l *limiter) Admit(by *schemas.Identity) (time.Duration, error) {
	if by == nil || l.limits.Rate <= 0 {
		return 0, nil
	}
	of, ok := l.rates.Get(by.ID)
	if !ok {
		of = rate.NewLimiter(rate.Limit(l.limits.Rate), max(1, int(math.Ceil(l.limits.Rate))))
		if was, there, _ := l.rates.PeekOrAdd(by.ID, of); there {
			of = was
		}
	}
	now := time.Now()
	r := of.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait == 0 {
		return 0, nil
	}
	r.CancelAt(now) // who is refused has not asked
	return wait, schemas.ErrTooManyRequests.Because("the credential has no more requests for now")
}

// Enter counts a stream of by until the answer is called;
// schemas.ErrTooManyRequests when it has too many open.
func (l *limiter) Enter(by *schemas.Identity) (leave func(), err error) {
	if by == nil || l.limits.Streams <= 0 {
		return func() {}, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[by.ID] >= l.limits.Streams {
		return nil, schemas.ErrTooManyRequests.Because("the credential has as many streams open as it may")
	}
	l.open[by.ID]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.open[by.ID]--; l.open[by.ID] == 0 {
			delete(l.open, by.ID)
		}
	}, nil
}
