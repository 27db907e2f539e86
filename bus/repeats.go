package bus

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"cairn/schemas"
)

const (
	// repeatBurst is the burst size of the lines of a key, and repeatRate their rate limit,
	// in lines per second.
	repeatBurst = 10
	repeatRate  = 1
	// repeatKeys is the maximum number of tracked keys.
	repeatKeys = 1024
	// floodEnd is the time without a line after which a flood has ended.
	floodEnd = 10 * time.Second
)

// repeats rate-limits log lines of the same key: level, message, attributes of the
// logger, subject or route, and error code. Callers cannot choose these values. The next
// line of a key reports how many were suppressed; after the flood, the next line of any
// key reports it. It may be used concurrently.
type repeats struct {
	mu    sync.Mutex
	known *lru.Cache[string, *repeat]
	swept time.Time
}

// repeat is the rate-limiter state of one key.
type repeat struct {
	handler    slog.Handler
	level      slog.Level
	message    string
	limiter    *rate.Limiter
	suppressed int
	last       time.Time
}

func newRepeats() *repeats {
	known, _ := lru.New[string, *repeat](repeatKeys) // fails for a size below 1
	return &repeats{known: known}
}

// admit reports whether to log the line, and how many of its key were suppressed
// since the one before.
func (r *repeats) admit(h logHandler, line slog.Record) (suppressed int, ok bool) {
	key := repeatKey(line, h.with)
	r.mu.Lock()
	defer r.mu.Unlock()
	of, known := r.known.Get(key)
	if !known {
		of = &repeat{handler: h.Handler, level: line.Level, message: line.Message, limiter: rate.NewLimiter(repeatRate, repeatBurst)}
		r.known.Add(key, of)
	}
	of.last = line.Time
	if !of.limiter.AllowN(line.Time, 1) {
		of.suppressed++
		return 0, false
	}
	suppressed, of.suppressed = of.suppressed, 0
	return suppressed, true
}

// ended returns the floods that have ended with suppressed lines, once each.
func (r *repeats) ended(now time.Time) (floods []repeat) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.swept) < floodEnd {
		return nil
	}
	r.swept = now
	for _, of := range r.known.Values() {
		if of.suppressed > 0 && now.Sub(of.last) >= floodEnd {
			floods = append(floods, *of)
			of.suppressed = 0
		}
	}
	return floods
}

func repeatKey(line slog.Record, with string) string {
	key := line.Level.String() + "\x00" + line.Message + with
	line.Attrs(func(a slog.Attr) bool {
		if a.Key == "subject" || a.Key == "route" {
			key += "\x00" + a.Value.String()
		}
		var e *schemas.Error
		if err, ok := a.Value.Any().(error); ok && errors.As(err, &e) {
			key += "\x00" + e.Code
		}
		return true
	})
	return key
}
