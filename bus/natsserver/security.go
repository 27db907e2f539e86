package natsserver

import (
	"cmp"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/nats-io/nats-server/v2/server"

	"cairn/bus"
	"cairn/bus/certificate"
	"cairn/bus/telemetry"
)

// Security is the authentication and encryption of an embedded server. The zero value disables both.
type Security struct {
	Secret    string // token of clients: nats://SECRET@host; empty: none
	Cert, Key string // PEM files, reloaded when they change; empty: no TLS
	CA        string // PEM file of CAs for mutual TLS between nodes; empty: no TLS on routes
	Log       *slog.Logger
}

// Option configures an embedded server.
type Option func(*Server, *server.Options) error

// WithSyncAlways makes the server sync each message to disk before it acknowledges it.
func WithSyncAlways() Option {
	return func(_ *Server, o *server.Options) error {
		o.SyncAlways = true
		return nil
	}
}

// WithLog makes the server log its warnings and errors to log.
func WithLog(log *slog.Logger) Option {
	return func(s *Server, _ *server.Options) error {
		s.log = slog.New(bus.LogHandler(log.Handler()))
		return nil
	}
}

// WithRecovery makes the server call recovered once when a stream refuses writes, although its directory stores files
// again. The stream stores messages after a restart of the server.
func WithRecovery(recovered func()) Option {
	return func(s *Server, _ *server.Options) error {
		s.recovered = recovered
		return nil
	}
}

// SystemUser is the name of the user of an embedded server in its system account, whose
// password is the secret, if any: nats://system:SECRET@host:4222 or nats://system@host:4222.
const SystemUser = "system"

// authentication admits clients with the secret.
type authentication struct {
	secret string
	server *Server
}

// Check implements server.Authentication. All users but SystemUser are in the global
// account, with all permissions.
func (a authentication) Check(c server.ClientAuthentication) bool {
	given := c.GetOpts()
	user, secret := given.Username, cmp.Or(given.Password, given.Token)
	switch {
	case a.secret == "":
		user = cmp.Or(user, given.Token) // a URL without a password has a token
	case subtle.ConstantTimeCompare([]byte(secret), []byte(a.secret)) != 1:
		return false
	}
	if user == SystemUser {
		c.RegisterUser(&server.User{Username: SystemUser, Account: a.server.ns.SystemAccount()})
	}
	return true
}

// WithSecurity applies s to the server.
func WithSecurity(s Security) Option {
	return func(_ *Server, o *server.Options) error {
		o.Authorization = s.Secret
		if s.Cert == "" && s.CA != "" {
			return errors.New("mutual TLS between nodes requires a certificate")
		}
		if s.Cert == "" {
			return nil
		}
		loaded, err := certificate.Load(s.Cert, s.Key, s.Log)
		if err != nil {
			return err
		}
		telemetry.Certificate("nats", loaded.Ends)
		o.TLS, o.TLSTimeout, o.TLSConfig = true, server.TLS_TIMEOUT.Seconds(), loaded.Config()
		if s.CA == "" {
			return nil
		}
		o.Cluster.TLSTimeout = server.TLS_TIMEOUT.Seconds()
		o.Cluster.TLSConfig, err = mutual(loaded.Config(), s.CA)
		return err
	}
}

// mutual returns c for mutual TLS with the CAs in the file.
func mutual(c *tls.Config, file string) (*tls.Config, error) {
	text, err := os.ReadFile(file) // #nosec G304 -- the file that the settings name
	if err != nil {
		return nil, fmt.Errorf("read CA file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("CA file %s contains no certificate", file)
	}
	c.RootCAs, c.ClientCAs, c.ClientAuth = pool, pool, tls.RequireAndVerifyClientCert
	return c, nil
}
