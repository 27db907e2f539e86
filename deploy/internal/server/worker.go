package server

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"cairn/bus"
	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/schemas"
	"cairn/services"
)

// worker runs services.
type worker struct {
	process
	connect.NATS
	backends backends
	serves   atomic.Bool // all roles are ready
}

func workerCommand() *cobra.Command {
	w := &worker{}
	roles := strings.Join(services.DefaultRoles(), ", ")
	cmd := &cobra.Command{
		Use:   "worker [ROLE…]",
		Short: "Run the services of some or all roles",
		Long: `Worker runs services on a NATS server: ` + roles + ` by default. The
role render, a rendering agent for "--render cairn.render", runs only when it is named.
Workers of the same role share its requests through a queue group and can be started
and stopped at any time.

"cairn setup" creates the streams. A worker that starts earlier waits for them and logs
the missing one.`,
		Example: `  cairn worker                                            # all roles
  cairn worker resolve --nats nats://nats:4222            # one more resolve worker
  cairn worker analyze --model ollama://gpu:11434/qwen3:8b`,
		ValidArgsFunction: cobra.FixedCompletions(services.AllRoles(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, role := range args {
				if !slices.Contains(w.backends.Roles, role) { // duplicates are ignored
					w.backends.Roles = append(w.backends.Roles, role)
				}
			}
			return w.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	w.NATS.Flags(cmd.Flags())
	w.backends.flags(cmd.Flags())
	w.process.flags(cmd)
	streamLimitFlag(cmd.Flags(), &w.backends.StreamLimit)
	return cmd
}

func (w *worker) run(ctx context.Context, out, errOut io.Writer) error {
	for _, role := range w.backends.Roles {
		if !slices.Contains(services.AllRoles(), role) {
			return flags.Usage(fmt.Errorf("unknown role %q; expected %s%s", role, strings.Join(services.AllRoles(), ", "),
				flags.DidYouMean(role, services.AllRoles())))
		}
	}
	log, err := w.logger(errOut)
	if err != nil {
		return err
	}
	defer w.limitDrain(ctx, log)()
	settings, err := w.backends.settings(w.process, log)
	if err != nil {
		return err
	}
	conn, err := w.Open("cairn-worker")
	if err != nil {
		return err
	}
	defer conn.Close()
	end, err := w.observe(ctx, log, w.drain, probes{"cairn-worker", func(context.Context) []string {
		return w.missing(conn)
	}})
	if err != nil {
		return err
	}
	defer end()
	log.Info("connecting", "nats", schemas.RedactURLs(w.URL))
	if err := w.Wait(ctx, conn, connect.ServerTimeout); err != nil {
		return err
	}
	return services.Run(ctx, conn, settings, func() {
		w.serves.Store(true)
		_, _ = fmt.Fprintf(out, "Cairn %s: %s on %s\n", bus.Version, strings.Join(w.roles(), ", "), schemas.RedactURLs(w.URL))
		for _, missing := range degraded(ctx, conn, w.roles()) {
			_, _ = fmt.Fprintln(out, "degraded:", missing)
		}
	})
}

// missing returns the reasons why the worker is not ready.
func (w *worker) missing(conn *bus.Conn) []string {
	switch {
	case !conn.Connected():
		return []string{"NATS is unavailable"}
	case !w.serves.Load():
		return []string{"the services are starting"}
	}
	return nil
}

func (w *worker) roles() []string {
	if len(w.backends.Roles) == 0 {
		return services.DefaultRoles()
	}
	return w.backends.Roles
}
