package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"cairn/services"
)

// setupTimeout bounds the setup of all streams, once NATS answers: a cluster may
// elect leaders first.
const setupTimeout = 2 * time.Minute

// setup creates the streams that workers use.
type setup struct {
	natsClient
	keys   secondUser
	config services.Config
}

func setupCommand() *cobra.Command {
	s := &setup{config: services.Defaults()}
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Create the streams on a NATS server, or upgrade them",
		Long: `Setup creates the JetStream streams that workers, edges and cairn key use, or
upgrades the configuration of those that exist. It is run by the operator, before the
first worker starts and with each new version; cairn up does it itself. Workers need
no permission to create or to change a stream.

What the streams hold is kept. The events of analyses are in memory: a NATS server that
belongs to no cluster loses their stream when it restarts, so setup is run again then.`,
		Example: `  cairn setup --nats nats://nats:4222
  cairn setup --replicas 3 --nats nats://operator:$O@nats:4222 --keys-nats nats://keys:$K@nats:4222`,
		Args: wants("nothing more", 0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	s.natsClient.flags(f)
	s.keys.flags(f, "keys-nats", keysUser)
	streamFlags(f, &s.config)
	return cmd
}

func (s *setup) run(ctx context.Context, out io.Writer) error {
	if err := checkStreams(s.config); err != nil {
		return err
	}
	conn, keys, err := s.connectedBoth(ctx, "cairn-setup", s.keys)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer keys.Close()
	limited, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	if err := services.Setup(limited, conn, keys, s.config); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "All streams are set up on %s\n", redacted(s.nats))
	return err
}
