package server

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/schemas"
	"cairn/services"
)

// setupTimeout bounds the setup of all streams after the connection is established,
// which includes leader elections in a cluster.
const setupTimeout = 2 * time.Minute

// setup creates the streams that workers use.
type setup struct {
	connect.NATS
	keys   connect.SecondUser
	config services.Config
}

func setupCommand() *cobra.Command {
	s := &setup{config: services.Defaults()}
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Create or upgrade the JetStream streams on a NATS server",
		Long: `Setup creates the JetStream streams that workers, edges and "cairn key" use, and
updates the configuration of existing ones. Run it as the operator before the first
worker starts, and in each new version before its workers and edges. "cairn up"
includes it. Workers need no permission to create or update streams.

Existing data is preserved. An older version overwrites the configuration of a newer
one. Events of analyses are stored in memory: run setup again
after a restart of a NATS server that is not part of a cluster.`,
		Example: `  cairn setup --nats nats://nats:4222
  cairn setup --replicas 3 --nats nats://operator:$O@nats:4222 --keys-nats nats://keys:$K@nats:4222`,
		Args: flags.Args("no arguments", 0, 0),
		RunE: s.run,
	}
	f := cmd.Flags()
	s.NATS.Flags(f)
	s.keys.KeysFlags(f)
	streamFlags(f, &s.config)
	return cmd
}

func (s *setup) run(cmd *cobra.Command, _ []string) error {
	if err := cmp.Or(flags.AtLeast("replicas", s.config.Replication.Replicas, 0),
		checkRetention(s.config.AuditRetention)); err != nil {
		return err
	}
	s.Timeout = connect.ServerTimeout
	conn, keys, err := s.ConnectBoth(cmd.Context(), "cairn-setup", s.keys)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer keys.Close()
	limited, cancel := context.WithTimeout(cmd.Context(), setupTimeout)
	defer cancel()
	if err := services.Setup(limited, conn, keys, s.config); err != nil {
		return err
	}
	output.Line(cmd.OutOrStdout(), "Created or updated all streams on "+schemas.RedactURLs(s.URL))
	return nil
}
