package bus

import (
	"context"
	"log/slog"

	"cairn/bus/telemetry"
)

// LogHandler is h with the request of each line's context in it, the credential
// that asked, and the trace: request_id, by, trace_id and span_id. One that has them already is h itself.
func LogHandler(h slog.Handler) slog.Handler {
	if h, ok := h.(logHandler); ok {
		return h
	}
	return logHandler{h}
}

type logHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	if id := RequestID(ctx); id != "" {
		r.AddAttrs(slog.String("request_id", id))
	}
	if by := Identity(ctx); by != nil {
		r.AddAttrs(slog.String("by", by.ID))
	}
	if trace, span := telemetry.IDs(ctx); trace != "" {
		r.AddAttrs(slog.String("trace_id", trace), slog.String("span_id", span))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h logHandler) WithGroup(name string) slog.Handler {
	return logHandler{h.Handler.WithGroup(name)}
}
