package access

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// Limits bound the use of one edge by one credential.
type Limits struct {
	Rate    float64 // requests per second, and the burst; 0: unlimited
	Streams int     // open event streams; 0: unlimited. Workers count runs (bus.Stream.Runs)
}

// credentials is the maximum number of credentials with a rate.
const credentials = 1 << 16

// Rates limits the rate of events of each key: perSecond on average, burst at once.
// It keeps the most recently used keys; an evicted key starts with a full burst. It
// may be used concurrently.
type Rates struct {
	perSecond rate.Limit
	burst     int
	limiters  *lru.Cache[string, *rate.Limiter]
}

// NewRates returns a Rates that keeps at most maxKeys keys.
func NewRates(perSecond float64, burst, maxKeys int) *Rates {
	limiters, _ := lru.New[string, *rate.Limiter](maxKeys) // fails for a size below 1
	return &Rates{rate.Limit(perSecond), burst, limiters}
}

// Take counts one event of the key and returns 0, or the time until the key may have
// another event.
func (r *Rates) Take(key string) time.Duration {
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
