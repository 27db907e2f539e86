// Package server runs Cairn: everything in one process, or the HTTP edge and the services
// in several, and the setup of their streams.
package server

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"cairn/bus"
	"cairn/deploy/internal/flags"
	"cairn/services"
)

// Commands returns the commands that run the server, in the order of the help.
func Commands() []*cobra.Command {
	return []*cobra.Command{upCommand(), edgeCommand(), workerCommand(), setupCommand()}
}

// ExitDrainTimeout is the exit code when requests in flight were canceled at the end of
// the drain, as with timeout(1).
const ExitDrainTimeout = 124

// ExitCatalogReplaced is the exit code when the catalog was deleted or replaced, also by an older copy of itself: the
// supervisor starts the process again, as after EX_TEMPFAIL of sysexits(3).
const ExitCatalogReplaced = 75

// ErrCatalogReplaced is the error of a process with ExitCatalogReplaced.
var ErrCatalogReplaced = services.ErrCatalogReplaced

// process holds the flags that all server commands share.
type process struct {
	level  slog.Level
	format string
	drain  time.Duration
	observed
}

func (p *process) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Func("log-level", "minimum log `LEVEL`: debug, info, warn or error; logs go to stderr", func(text string) error {
		if p.level.UnmarshalText([]byte(text)) != nil {
			return fmt.Errorf("expected debug, info, warn or error, got %q", text)
		}
		return nil
	})
	f.Lookup("log-level").DefValue = p.level.String()
	flags.Choice(cmd, &p.format, "log-format", "", "log `FORMAT`: text or json", "text", "json")
	f.DurationVar(&p.drain, "drain", services.Defaults().Drain,
		"graceful shutdown timeout for requests in flight; after it they are canceled and the exit code is 124")
	p.observed.flags(f)
}

// exitTimeout bounds the time after the drain to cancel requests in flight and close. The
// process exits at most 2 s after the drain deadline; 250 ms of that remain for the exit itself.
const exitTimeout = 1750 * time.Millisecond

// logTimeout bounds the last log line, which blocks when stderr is a full pipe.
const logTimeout = 100 * time.Millisecond

// limitDrain exits the process with ExitDrainTimeout when it still runs exitTimeout
// after the drain that begins when ctx ends. The caller calls stop at its end.
func (p *process) limitDrain(ctx context.Context, log *slog.Logger) (stop func()) {
	returned, stop := context.WithCancel(context.Background())
	context.AfterFunc(ctx, func() {
		select {
		case <-returned.Done():
		case <-time.After(p.drain + exitTimeout):
			time.AfterFunc(logTimeout, func() { os.Exit(ExitDrainTimeout) })
			log.Error("drain deadline exceeded: requests in flight were canceled", "drain", p.drain)
			os.Exit(ExitDrainTimeout)
		}
	})
	return stop
}

// logger returns a logger to w and makes it the default.
func (p *process) logger(w io.Writer) (*slog.Logger, error) {
	options := &slog.HandlerOptions{Level: p.level}
	var form slog.Handler = slog.NewTextHandler(w, options)
	if p.format == "json" {
		form = slog.NewJSONHandler(w, options)
	}
	if err := cmp.Or(p.checkHosts(), flags.AtLeast("drain", p.drain, 0)); err != nil {
		return nil, err
	}
	log := slog.New(bus.LogHandler(form))
	slog.SetDefault(log)
	return log, nil
}
