package natsserver

import (
	"context"
	"fmt"
	"log/slog"
)

// serverLog is a server.Logger that logs the warnings and errors of the server, and its notices at debug level.
type serverLog struct{ log *slog.Logger }

func (l serverLog) line(level slog.Level, format string, args []any) {
	if ctx := context.Background(); l.log.Enabled(ctx, level) {
		l.log.Log(ctx, level, "NATS server", "text", fmt.Sprintf(format, args...))
	}
}

func (l serverLog) Noticef(format string, args ...any) { l.line(slog.LevelDebug, format, args) }
func (l serverLog) Warnf(format string, args ...any)   { l.line(slog.LevelWarn, format, args) }
func (l serverLog) Errorf(format string, args ...any)  { l.line(slog.LevelError, format, args) }
func (l serverLog) Fatalf(format string, args ...any)  { l.line(slog.LevelError, format, args) }
func (l serverLog) Debugf(string, ...any)              {}
func (l serverLog) Tracef(string, ...any)              {}
