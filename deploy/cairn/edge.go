package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"cairn/bus"
	"cairn/deploy/internal/client"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/edge"
)

// edgeProcess runs an edge.
type edgeProcess struct {
	process
	edgeFlags
	client.NATS
	reader client.SecondUser
}

func edgeCommand() *cobra.Command {
	e := &edgeProcess{}
	cmd := &cobra.Command{
		Use:   "edge",
		Short: "Run an HTTP edge",
		Long: `Edge serves the HTTP API and forwards requests to workers through NATS. It holds no
state, so any number of edges can run. While NATS or the workers are unavailable
it answers with 503, and /health names the missing services.`,
		Example: `  cairn edge --nats nats://nats:4222 --http 0.0.0.0:8080 --auth keys
  CAIRN_NATS=nats://nats:4222 cairn edge`,
		Args: flags.Args("no arguments", 0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return e.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	e.edgeFlags.flags(cmd.Flags())
	e.NATS.Flags(cmd.Flags())
	e.reader.Flags(cmd.Flags(), "reader-nats", "reads API keys and events of analyses")
	e.process.flags(cmd.Flags())
	return cmd
}

func (e *edgeProcess) run(ctx context.Context, out, errOut io.Writer) error {
	log, err := e.logger(errOut)
	if err != nil {
		return err
	}
	defer e.limitDrain(ctx, log)()
	conn, err := e.Open("cairn-edge")
	if err != nil {
		return err
	}
	defer conn.Close()
	if e.reader.URL != "" {
		reader, err := e.As(e.reader).Open("cairn-edge-reader")
		if err != nil {
			return fmt.Errorf("--reader-nats: %w", err)
		}
		conn.ReadOver(reader)
	}
	c, err := e.config(e.process, log)
	if err != nil {
		return err
	}
	c.Conn = conn
	end, err := e.observe(ctx, log, probes{"cairn-edge", func(asked context.Context) []string { return edge.Ready(asked, conn) }})
	if err != nil {
		return err
	}
	defer end()
	if _, err := fmt.Fprintf(out, "Cairn %s: edge on %s, connected to %s\n", bus.Version, addressOf(c), output.Redacted(e.URL)); err != nil {
		return err
	}
	return edge.Serve(ctx, c)
}
