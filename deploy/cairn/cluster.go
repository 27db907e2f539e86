package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"cairn/bus"
	"cairn/services"
)

// clusterReplicas is how many nodes keep what there is, when nobody says.
const clusterReplicas = 3

// cluster are the settings of a node of a cluster; without a name there is none.
type cluster struct{ bus.Cluster }

func (c *cluster) flags(f *pflag.FlagSet) {
	f.StringVar(&c.Name, "cluster", "", "`NAME` of the cluster that the NATS server is a node of; empty: it is alone")
	f.StringSliceVar(&c.Routes, "routes", nil, "`URLS` of the other nodes, such as nats://b:6222,nats://c:6222; one's own may be among them")
	f.StringVar(&c.Listen, "cluster-listen", "127.0.0.1:6222", "`ADDRESS` for the other nodes")
	f.StringVar(&c.Advertise, "cluster-advertise", "", "`ADDRESS` that the nodes tell each other of this one; empty: that of --cluster-listen")
	secretVar(f, &c.Secret, "cluster-secret", "", "`SECRET` that the nodes ask of each other")
	f.StringVar(&c.Node, "node", "", "`NAME` of this node, unlike all others and for ever; empty: one is made and kept with the data")
	f.StringSliceVar(&c.Tags, "node-tags", nil, "`TAGS` of this node, for --placement-tags")
}

// check says what is wrong with the settings.
func (c *cluster) check(insecure bool) error {
	switch {
	case c.Name == "" && len(c.Routes) > 0:
		return errors.New("--routes are those of a cluster; give its name with --cluster")
	case c.Name == "":
		return nil
	case len(c.Routes) == 0:
		return errors.New("--cluster: give the other nodes with --routes")
	case c.Secret != "":
		return nil
	}
	return guard("cluster-listen", c.Listen, insecure, "a --cluster-secret that all nodes have, or --insecure")
}

// start starts the server that the settings are about.
func (c *cluster) start(data, listen string, guarded bus.ServerOption) (*bus.Server, error) {
	if c.Name == "" {
		return bus.StartServer(data, listen, guarded)
	}
	return bus.StartNode(data, listen, c.Cluster, guarded)
}

// announce says that the node runs, which the others may have to join.
func (c *cluster) announce(out io.Writer, server *bus.Server, http string) {
	if c.Name != "" {
		_, _ = fmt.Fprintf(out, "Cairn %s: node %s of cluster %s waits for the others; how it is: %s/health\n", bus.Version, server.Node(), c.Name, http)
	}
}

// replicas is how many nodes are to keep what there is.
func (c *cluster) replicas(given int) int {
	if c.Name == "" || given > 0 {
		return given
	}
	return clusterReplicas
}

// founding waits until the cluster can be worked with; nil where there is none.
func (c *cluster) founding(server *bus.Server, conn *bus.Conn, s services.Config) func(context.Context) error {
	if c.Name == "" {
		return nil
	}
	return func(ctx context.Context) error {
		stop, err := server.Found(ctx, conn, s.Copies.Replicas, s.Log)
		if err == nil {
			context.AfterFunc(ctx, stop)
		}
		return err
	}
}
