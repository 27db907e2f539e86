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

// credentials is how many credentials' rates are kept.
const credentials = 1 << 16

// Rates bounds how often each key may do something: perSecond, and burst at once.
// It keeps the keys that were used last; one that it has evicted begins with a
// full burst. It may be used concurrently.
type Rates struct {
	perSecond rate.Limit
	burst     int
	limiters  *lru.Cache[string, *rate.Limiter]
}

// NewRates returns rates of at most keys keys.
func NewRates(perSecond float64, burst, keys int) *Rates {
	limiters, _ := lru.New[string, *rate.Limiter](keys) // fails for a size below 1
	return &Rates{rate.Limit(perSecond), burst, limiters}
}

// Admit counts one event of the key and returns 0, or how long to wait until the
// key may have another one.
func (r *Rates) Admit(key string) time.Duration {
	limiter, ok := r.limiters.Get(key)
	if !ok {
		limiter = rate.NewLimiter(r.perSecond, r.burst)
		if first, exists, _ := r.limiters.PeekOrAdd(key, limiter); exists {
			limiter = first
		}
	}
	now := time.Now()
	event := limiter.ReserveN(now, 1)
	wait := event.DelayFrom(now)
	if wait > 0 {
		event.CancelAt(now) // a refused event does not count
	}
	return wait
}

type limiter struct {
	limits Limits
	rates  *Rates

	mu   sync.Mutex
	open map[string]int // streams, by credential
}

func newLimiter(l Limits) *limiter {
	rates := NewRates(l.Rate, max(1, int(math.Ceil(l.Rate))), credentials)
	return &limiter{limits: l, rates: rates, open: map[string]int{}}
}

// Admit counts a request of by, and is schemas.ErrTooManyRequests with the time
// after which the next one may come, when there were too many.
func (l *limiter) Admit(by *schemas.Identity) (time.Duration, error) {
	if by == nil || l.limits.Rate <= 0 {
		return 0, nil
	}
	wait := l.rates.Admit(by.ID)
	if wait == 0 {
		return 0, nil
	}
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
