package main

import (
	"github.com/spf13/pflag"

	"cairn/bus"
)

// natsClient is how a process comes to the NATS server, and is known there.
type natsClient struct {
	nats string
	bus.Credentials
}

func (n *natsClient) flags(f *pflag.FlagSet) {
	f.StringVar(&n.nats, "nats", "nats://127.0.0.1:4222", "`URL` of the NATS server; several with commas between")
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
