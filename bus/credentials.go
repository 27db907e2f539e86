package bus

import "github.com/nats-io/nats.go"

// Credentials are the files that authenticate a client to a NATS server and the
// server to the client; empty fields are not used. Files are read on each connect,
// so they can be replaced.
type Credentials struct {
	Creds string // user JWT and seed
	NKey  string // seed of the user's NKey
	CA    string // CA certificates, besides those of the system
	Cert  string // client certificate
	Key   string // its private key
}

// Option configures a connection.
type Option = nats.Option

// Options returns the connection options for the credentials.
func (c Credentials) Options() []Option {
	var list []Option
	if c.Creds != "" {
		list = append(list, nats.UserCredentials(c.Creds))
	}
	if c.NKey != "" {
		list = append(list, nkey(c.NKey))
	}
	if c.CA != "" {
		list = append(list, nats.RootCAs(c.CA))
	}
	if c.Cert != "" {
		list = append(list, nats.ClientCert(c.Cert, c.Key))
	}
	return list
}

// nkey returns the option for the seed in file. It reports an error when the
// connection is opened, as the other options do.
func nkey(file string) Option {
	option, err := nats.NkeyOptionFromSeed(file)
	if err != nil {
		return func(*nats.Options) error { return err }
	}
	return option
}
