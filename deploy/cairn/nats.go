package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"cairn/bus"
)

// natsTime is how long a NATS server is waited for; who started a worker that
// gave up starts it again.
const natsTime = 30 * time.Second

// natsClient is how a process comes to the NATS server, and is known there.
type natsClient struct {
	nats string
	bus.Credentials
}

func (n *natsClient) flags(f *pflag.FlagSet) {
	secretVar(f, &n.nats, "nats", "nats://127.0.0.1:4222", "`URL` of the NATS server; several with commas between")
	f.StringVar(&n.Creds, "nats-creds", "", "`FILE` with the credentials of a NATS user")
	f.StringVar(&n.NKey, "nats-nkey", "", "`FILE` with the seed of a NATS user's key")
	f.StringVar(&n.CA, "nats-ca", "", "`FILE` with the certificates by which the NATS server is known, if not by those of the system")
	f.StringVar(&n.Cert, "nats-cert", "", "`FILE` with the certificate by which this process is known to the NATS server")
	f.StringVar(&n.Key, "nats-key", "", "`FILE` with the private key of --nats-cert")
}

// open connects, or keeps trying. The caller closes the connection.
func (n *natsClient) open(name string) (*bus.Conn, error) {
	return bus.Open(n.nats, name, n.Options()...)
}

// connected is a connection to a server that answers. The caller closes it.
func (n *natsClient) connected(ctx context.Context, name string) (*bus.Conn, error) {
	conn, err := n.open(name)
	if err != nil {
		return nil, err
	}
	if err := n.await(ctx, conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// await returns when the server answers.
func (n *natsClient) await(ctx context.Context, conn *bus.Conn) error {
	limited, cancel := context.WithTimeout(ctx, natsTime)
	defer cancel()
	err := conn.WaitConnected(limited)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("no NATS server answers at %s", redacted(n.nats))
	}
	return err
}
