package operations

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cairn/bus"
	"cairn/bus/members"
	"cairn/bus/natsserver"
	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
)

// memberTimeout bounds a cluster command after the connection to NATS is established.
const memberTimeout = time.Minute

// cluster is a command about the nodes of the NATS cluster.
type cluster struct {
	connect.NATS
	output string
}

func clusterCommand() *cobra.Command {
	cmd := flags.Group(&cobra.Command{
		Use:   "cluster",
		Short: "List and remove the nodes of the NATS cluster",
		Long: `Cluster manages the membership of the NATS cluster. The NATS user must be in the system
account: in a cluster of "cairn up", that is the user system with the --nats-secret of the
nodes as password, which is the default if there is no secret.`,
	})
	cmd.AddCommand(clusterStatusCommand(), clusterRemoveCommand())
	return cmd
}

func clusterStatusCommand() *cobra.Command {
	c := &cluster{}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Print the nodes of the cluster and its streams",
		Long: `Status prints the nodes of the cluster, the nodes that hold each stream, the leader
first, and which of them are offline or behind.`,
		Example: "  cairn cluster status --nats nats://system:$SECRET@10.0.0.1:4222",
		Args:    flags.Args("no arguments", 0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withConn(cmd.Context(), func(ctx context.Context, conn *bus.Conn) error {
				return c.status(ctx, conn, cmd.OutOrStdout())
			})
		},
	}
	c.Flags(cmd.Flags())
	flags.Text(cmd, &c.output)
	return cmd
}

func clusterRemoveCommand() *cobra.Command {
	c := &cluster{}
	cmd := &cobra.Command{
		Use:   "remove NODE",
		Short: "Remove a permanently lost node",
		Long: `Remove removes an offline NODE, given its name or peer ID, from the cluster and from the
replicas of every stream. A node that joins afterwards takes its place. The removed node
must not start again with its data.`,
		Example: "  cairn cluster remove machine3-k2v9x1qp --nats nats://system:$SECRET@10.0.0.1:4222",
		Args:    flags.Args("one NODE", 1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withConn(cmd.Context(), func(ctx context.Context, conn *bus.Conn) error {
				bar := output.NewProgress(cmd.ErrOrStderr(), "waiting until no stream uses the node", -1)
				defer bar.Close()
				if err := members.Remove(ctx, conn, args[0], bar.Reach); err != nil {
					return err
				}
				bar.Close()
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "removed "+args[0])
				return err
			})
		},
	}
	c.Flags(cmd.Flags())
	return cmd
}

// withConn connects, calls do and closes the connection.
func (c *cluster) withConn(ctx context.Context, do func(context.Context, *bus.Conn) error) error {
	c.URL = asSystem(c.URL)
	conn, err := c.Connect(ctx, "cairn-cluster")
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	return do(ctx, conn)
}

// asSystem adds the system user to URLs without a user.
func asSystem(urls string) string {
	list := strings.Split(urls, ",")
	for i, text := range list {
		if u, err := url.Parse(strings.TrimSpace(text)); err == nil && u.Host != "" && u.User == nil {
			u.User = url.User(natsserver.SystemUser)
			list[i] = u.String()
		}
	}
	return strings.Join(list, ",")
}

func (c *cluster) status(ctx context.Context, conn *bus.Conn, out io.Writer) error {
	s, err := members.Read(ctx, conn)
	if err != nil {
		return err
	}
	return output.Result{Value: s, Table: func(t *output.Table) { printStatus(t, s) }}.Print(out, c.output)
}

func printStatus(t *output.Table, s members.Status) {
	t.Row("cluster " + s.Cluster)
	for _, n := range s.Nodes {
		state := "offline"
		switch {
		case n.Leader:
			state = "online, leader"
		case n.Online:
			state = "online"
		}
		t.Row("  "+n.Name, n.Peer, state)
	}
	for _, row := range s.Streams {
		t.Row("  "+row.Name, row.Account, strings.Join(append([]string{row.Leader}, row.Peers...), " "))
	}
	for _, problem := range s.Degraded {
		t.Row("degraded: " + problem)
	}
}
