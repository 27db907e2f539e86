package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"cairn/bus"
	"cairn/deploy/internal/flags"
)

// natsTimeout bounds the first connection to a NATS server.
const natsTimeout = 30 * time.Second

// natsClient holds the flags of a connection to the NATS server.
type natsClient struct {
	nats  string
	inbox string
	bus.Credentials
}

func (n *natsClient) flags(f *pflag.FlagSet) {
	flags.Secret(f, &n.nats, "nats", "nats://127.0.0.1:4222", "`URL` of the NATS server; comma-separated list for several")
	f.StringVar(&n.inbox, "nats-inbox", "", "inbox `PREFIX` for replies, to which the NATS user must be allowed to subscribe; empty: _INBOX_USER with the user of --nats, or _INBOX")
	f.StringVar(&n.Creds, "nats-creds", "", "NATS credentials `FILE`")
	f.StringVar(&n.NKey, "nats-nkey", "", "NKey seed `FILE`")
	f.StringVar(&n.CA, "nats-ca", "", "`FILE` with CA certificates for the NATS server; empty: those of the system")
	f.StringVar(&n.Cert, "nats-cert", "", "`FILE` with the TLS client certificate for the NATS server")
	f.StringVar(&n.Key, "nats-key", "", "`FILE` with the private key of --nats-cert")
}

// open connects, or keeps trying. The caller closes the connection.
func (n *natsClient) open(name string) (*bus.Conn, error) {
	prefix, err := bus.InboxPrefix(n.nats, n.inbox)
	if err != nil {
		return nil, fmt.Errorf("--nats-inbox: %w", err)
	}
	return bus.Open(n.nats, name, append(n.Options(), prefix)...)
}

// secondUser holds the flags of a connection as another NATS user, which on a
// server with accounts is one of another account.
type secondUser struct{ url, creds, nkey string }

// flags defines the flags with the prefix name; does describes the user in their help.
func (u *secondUser) flags(f *pflag.FlagSet, name, does string) {
	flags.Secret(f, &u.url, name, "", "`URL` of the NATS server with the user that "+does+"; empty: same as --nats")
	f.StringVar(&u.creds, name+"-creds", "", "NATS credentials `FILE` for --"+name)
	f.StringVar(&u.nkey, name+"-nkey", "", "NKey seed `FILE` for --"+name)
}

// client returns the settings of the connection: those of n, except for the user.
func (u *secondUser) client(n *natsClient) *natsClient {
	second := *n
	second.nats, second.Creds, second.NKey = u.url, u.creds, u.nkey
	return &second
}

// connected returns an established connection. The caller closes it.
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

// keysUser describes the second user of operator commands in the help.
const keysUser = "reads and writes API keys"

// connectedBoth returns a connection of n and one of the keys user, or a second one of n
// if no such user is configured. The caller closes both.
func (n *natsClient) connectedBoth(ctx context.Context, name string, keys secondUser) (conn, keyConn *bus.Conn, err error) {
	if conn, err = n.connected(ctx, name); err != nil {
		return nil, nil, err
	}
	other := n
	if keys.url != "" {
		other = keys.client(n)
	}
	if keyConn, err = other.connected(ctx, name+"-keys"); err != nil {
		conn.Close()
		return nil, nil, fmt.Errorf("--keys-nats: %w", err)
	}
	return conn, keyConn, nil
}

// await waits until conn is connected.
func (n *natsClient) await(ctx context.Context, conn *bus.Conn) error {
	limited, cancel := context.WithTimeout(ctx, natsTimeout)
	defer cancel()
	err := conn.WaitConnected(limited)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("cannot connect to the NATS server at %s", redacted(n.nats))
	}
	return err
}
