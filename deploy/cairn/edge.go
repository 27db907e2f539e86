package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cairn/bus"
	"cairn/edge"
)

// edgeProcess is one edge, alone.
type edgeProcess struct {
	process
	edgeFlags
	nats string
}

func edgeCommand() *cobra.Command {
	e := &edgeProcess{}
	cmd := &cobra.Command{
		Use:   "edge",
		Short: "Run the HTTP edge alone",
		Long: `Edge answers HTTP by asking the workers on a NATS server. Any number of edges may
run beside each other. While NATS or the workers are away it answers 503, and
/health says what is missing.`,
		Example: `  cairn edge --nats nats://nats:4222 --http 0.0.0.0:8080 --insecure
  CAIRN_NATS=nats://nats:4222 cairn edge`,
		Args: wants("nothing more", 0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return e.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	e.edgeFlags.flags(cmd.Flags())
	natsFlag(cmd.Flags(), &e.nats)
	e.process.flags(cmd.Flags())
	return cmd
}

func natsFlag(f *pflag.FlagSet, url *string) {
	f.StringVar(url, "nats", "nats://127.0.0.1:4222", "`URL` of the NATS server; several with commas between")
}

func (e *edgeProcess) run(ctx context.Context, out, errOut io.Writer) error {
	log, err := e.logger(errOut)
	if err != nil {
		return err
	}
	conn, err := bus.Open(e.nats, "cairn-edge")
	if err != nil {
		return err
	}
	defer conn.Close()
	listener, err := e.listen()
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "Cairn %s: edge on http://%s, asking %s\n", bus.Version, listener.Addr(), redacted(e.nats)); err != nil {
		return err
	}
	return edge.Serve(ctx, edge.Config{Listener: listener, Conn: conn, Log: log, Drain: e.drain, AnalyzeTimeout: e.patience})
}
