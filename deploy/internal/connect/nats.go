package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"cairn/bus"
	"cairn/deploy/internal/flags"
	"cairn/schemas"
)

// ServerTimeout bounds the first connection of a server or of a job to NATS, which may
// start later.
const ServerTimeout = 30 * time.Second

// connectTimeout bounds the connection of an interactive command.
const connectTimeout = 3 * time.Second

// NATS holds the flags of a connection to the NATS server at URL.
type NATS struct {
	URL string
	// Timeout bounds Connect; 0: 3 s.
	Timeout time.Duration
	inbox   string
	bus.Credentials
}

// Flags defines the flags.
func (n *NATS) Flags(f *pflag.FlagSet) {
	flags.Secret(f, &n.URL, "nats", "nats://127.0.0.1:4222", "`URL` of the NATS server; comma-separated list for several")
	f.StringVar(&n.inbox, "nats-inbox", "",
		"inbox `PREFIX` for replies, to which the NATS user must be allowed to subscribe; empty: _INBOX_USER with the user of --nats, or _INBOX")
	f.StringVar(&n.Creds, "nats-creds", "", "NATS credentials `FILE`")
	f.StringVar(&n.NKey, "nats-nkey", "", "NKey seed `FILE`")
	f.StringVar(&n.CA, "nats-ca", "", "`FILE` with CA certificates for the NATS server; empty: system certificates")
	f.StringVar(&n.Cert, "nats-cert", "", "`FILE` with the TLS client certificate for the NATS server")
	f.StringVar(&n.Key, "nats-key", "", "`FILE` with the private key of --nats-cert")
}

// Open connects in the background and keeps trying. The caller closes the connection.
func (n *NATS) Open(name string) (*bus.Conn, error) {
	prefix, err := bus.InboxPrefix(n.URL, n.inbox)
	if err != nil {
		return nil, fmt.Errorf("--nats-inbox: %w", err)
	}
	return bus.Open(n.URL, name, append(n.Options(), prefix)...)
}

// SecondUser holds the flags of a connection as another NATS user. On a
// server with accounts that user belongs to another account.
type SecondUser struct{ URL, creds, nkey string }

// Flags defines the flags, whose names begin with name. Their help says that the user "does" this.
func (u *SecondUser) Flags(f *pflag.FlagSet, name, does string) {
	flags.Secret(f, &u.URL, name, "", "`URL` of the NATS server with the user that "+does+"; empty: same as --nats")
	f.StringVar(&u.creds, name+"-creds", "", "NATS credentials `FILE` for --"+name)
	f.StringVar(&u.nkey, name+"-nkey", "", "NKey seed `FILE` for --"+name)
}

// KeysFlags defines the flags of the user with which operator commands read and write API
// keys.
func (u *SecondUser) KeysFlags(f *pflag.FlagSet) {
	u.Flags(f, "keys-nats", "reads and writes API keys")
}

// As returns the settings of the connection as the user u, or n if u is not configured.
func (n *NATS) As(u SecondUser) *NATS {
	if u.URL == "" {
		return n
	}
	second := *n
	second.URL, second.Creds, second.NKey = u.URL, u.creds, u.nkey
	return &second
}

// Connect returns an established connection, or an error after n.Timeout. The caller closes it.
func (n *NATS) Connect(ctx context.Context, name string) (*bus.Conn, error) {
	conn, err := n.Open(name)
	if err != nil {
		return nil, err
	}
	if err := n.Wait(ctx, conn, cmp.Or(n.Timeout, connectTimeout)); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// ConnectBoth returns a connection of n and one of the keys user, or a second one of n
// if no such user is configured. The caller closes both.
func (n *NATS) ConnectBoth(ctx context.Context, name string, keys SecondUser) (conn, keyConn *bus.Conn, err error) {
	if conn, err = n.Connect(ctx, name); err != nil {
		return nil, nil, err
	}
	if keyConn, err = n.As(keys).Connect(ctx, name+"-keys"); err != nil {
		conn.Close()
		return nil, nil, fmt.Errorf("--keys-nats: %w", err)
	}
	return conn, keyConn, nil
}

// ErrNoNATS is returned if the NATS server is unreachable.
var ErrNoNATS = errors.New("cannot connect to the NATS server")

// Wait waits until conn is connected, or returns ErrNoNATS after the timeout.
func (n *NATS) Wait(ctx context.Context, conn *bus.Conn, timeout time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := conn.WaitConnected(limited)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w at %s within %v", ErrNoNATS, schemas.RedactURLs(n.URL), timeout)
}
