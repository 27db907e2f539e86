package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"cairn/bus/telemetry"
	"cairn/schemas"
)

const (
	maxLogValue = 1 << 10 // of a log line, in bytes
	maxLogStack = 8 << 10 // of a log line, in bytes
)

// LogHandler returns h with the request of each line's context: request_id, by (the credential),
// trace_id and span_id. It bounds what callers can add to the log of a process: values beyond 1 KiB
// are cut and end with their length, and repeated warnings and errors are rate-limited (see
// repeats). It returns a LogHandler unchanged.
func LogHandler(h slog.Handler) slog.Handler {
	if h, ok := h.(logHandler); ok {
		return h
	}
	states, _ := lru.New[string, *repeat](repeatKeys) // fails for a size below 1
	return logHandler{Handler: h, repeats: &repeats{states: states}}
}

type logHandler struct {
	slog.Handler
	repeats    *repeats
	attributes string // attributes of the logger, part of the key of its lines
}

func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	for _, flood := range h.repeats.takeEnded(r.Time) {
		line := slog.NewRecord(r.Time, flood.level, "repeated log lines suppressed", r.PC)
		line.AddAttrs(slog.String("line", flood.message), slog.Int("suppressed", flood.suppressed))
		_ = flood.handler.Handle(ctx, line) // a logger ignores the errors of its handler too
	}
	suppressed := 0
	if r.Level >= slog.LevelWarn {
		var ok bool
		if suppressed, ok = h.repeats.admit(h, r); !ok {
			return nil
		}
	}
	line := slog.NewRecord(r.Time, r.Level, truncate(r.Message, maxLogValue), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		line.AddAttrs(bounded(a))
		var p *PanicError
		if err, ok := a.Value.Any().(error); ok && errors.As(err, &p) {
			line.AddAttrs(slog.String("stack", truncate(string(p.Stack), maxLogStack)))
		}
		return true
	})
	if suppressed > 0 {
		line.AddAttrs(slog.Int("suppressed", suppressed))
	}
	if id := RequestID(ctx); id != "" {
		line.AddAttrs(slog.String("request_id", id))
	}
	if caller := Identity(ctx); caller != nil {
		line.AddAttrs(slog.String("by", caller.ID))
	}
	if trace, span := telemetry.IDs(ctx); trace != "" {
		line.AddAttrs(slog.String("trace_id", trace), slog.String("span_id", span))
	}
	return h.Handler.Handle(ctx, line)
}

func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	limited := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		limited[i] = bounded(a)
		h.attributes += "\x00" + limited[i].String()
	}
	h.Handler = h.Handler.WithAttrs(limited)
	return h
}

func (h logHandler) WithGroup(name string) slog.Handler {
	h.Handler = h.Handler.WithGroup(name)
	return h
}

// bounded returns a with its value cut to maxLogValue bytes.
func bounded(a slog.Attr) slog.Attr {
	a.Value = a.Value.Resolve()
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(truncate(a.Value.String(), maxLogValue))
	case slog.KindGroup:
		group := a.Value.Group()
		members := make([]slog.Attr, len(group))
		for i, member := range group {
			members[i] = bounded(member)
		}
		a.Value = slog.GroupValue(members...)
	case slog.KindAny:
		if text := fmt.Sprintf("%+v", a.Value.Any()); len(text) > maxLogValue {
			a.Value = slog.StringValue(truncate(text, maxLogValue))
		}
	default: // of a fixed size
	}
	return a
}

// truncate returns s, or its first limit bytes and its length.
func truncate(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + fmt.Sprintf("… (%d bytes)", len(s))
}

// PanicError is a recovered panic. LogHandler logs its stack.
type PanicError struct {
	Value any
	Stack []byte
}

// Recovered returns the panic of the value as an error. Call it in the deferred
// function that recovers it.
func Recovered(value any) error { return &PanicError{value, debug.Stack()} }

// Error implements error.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

const (
	// repeatBurst is the burst size of the rate limit of a key in lines, and repeatRate its rate in
	// lines per second.
	repeatBurst = 10
	repeatRate  = 1
	repeatKeys  = 1024             // maximum number of tracked keys
	floodEnd    = 10 * time.Second // time without a line after which a flood has ended
)

// repeats rate-limits log lines of the same key: level, message, attributes of the
// logger, subject or route, and error code. Callers cannot choose these values. The next
// line of a key reports how many were suppressed; after the flood, the next line of any
// key reports it. It may be used concurrently.
type repeats struct {
	mu     sync.Mutex
	states *lru.Cache[string, *repeat]
	swept  time.Time // time of the last search for floods that have ended
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

// admit reports whether to log the line, and how many of its key were suppressed
// since the one before.
func (r *repeats) admit(h logHandler, line slog.Record) (suppressed int, ok bool) {
	key := repeatKey(line, h.attributes)
	r.mu.Lock()
	defer r.mu.Unlock()
	repetition, tracked := r.states.Get(key)
	if !tracked {
		repetition = &repeat{handler: h.Handler, level: line.Level, message: line.Message,
			limiter: rate.NewLimiter(repeatRate, repeatBurst)}
		r.states.Add(key, repetition)
	}
	repetition.last = line.Time
	if !repetition.limiter.AllowN(line.Time, 1) {
		repetition.suppressed++
		return 0, false
	}
	suppressed, repetition.suppressed = repetition.suppressed, 0
	return suppressed, true
}

// takeEnded returns the floods that have ended with suppressed lines, once each.
func (r *repeats) takeEnded(now time.Time) (floods []repeat) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.swept) < floodEnd {
		return nil
	}
	r.swept = now
	for _, repetition := range r.states.Values() {
		if repetition.suppressed > 0 && now.Sub(repetition.last) >= floodEnd {
			floods = append(floods, *repetition)
			repetition.suppressed = 0
		}
	}
	return floods
}

func repeatKey(line slog.Record, attributes string) string {
	key := line.Level.String() + "\x00" + line.Message + attributes
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
