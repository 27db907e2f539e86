package bus

import "github.com/nats-io/nats.go"

// Credentials are the files by which a NATS server knows a client, and a client
// the server; what is empty is not used. They are read at each connection, so
// that they can be replaced.
type Credentials struct {
	Creds string // of a user: a JWT and a seed
	NKey  string // the seed of a user's key
	CA    string // certificates of authorities, beside those of the system
	Cert  string // certificate of the client
	Key   string // its private key
}

// Option is how a connection is made.
type Option = nats.Option

// Options are those of a connection with the credentials.
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

// nkey is the option for the seed in the file, whose error comes with the
// connection, as those of the others do.
func nkey(file string) Option {
	option, err := nats.NkeyOptionFromSeed(file)
	if err != nil {
		return func(*nats.Options) error { return err }
	}
	return option
}
