package bus

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/nats-io/nats-server/v2/server"

	"cairn/bus/certificate"
	"cairn/bus/telemetry"
)

// Security is how an embedded server is guarded; the zero one is not.
type Security struct {
	Secret    string // that clients give: nats://SECRET@host; empty: none
	Cert, Key string // files of the certificate, in PEM, read anew when they change; empty: nothing is encrypted
	CA        string // file of the authorities by which the nodes of a cluster know each other; empty: routes are not encrypted
	Log       *slog.Logger
}

// ServerOption is something that an embedded server is to have.
type ServerOption func(*server.Options) error

// Guarded has the server guarded as s says.
func Guarded(s Security) ServerOption {
	return func(o *server.Options) error {
		o.Authorization = s.Secret
		if s.Cert == "" && s.CA != "" {
			return errors.New("nodes that know each other by certificates need one")
		}
		if s.Cert == "" {
			return nil
		}
		shown, err := certificate.Load(s.Cert, s.Key, s.Log)
		if err != nil {
			return err
		}
		telemetry.Certificate("nats", shown.Ends)
		o.TLS, o.TLSTimeout, o.TLSConfig = true, server.TLS_TIMEOUT.Seconds(), shown.Config()
		if s.CA == "" {
			return nil
		}
		o.Cluster.TLSTimeout = server.TLS_TIMEOUT.Seconds()
		o.Cluster.TLSConfig, err = mutual(shown.Config(), s.CA)
		return err
	}
}

// mutual is c for peers that know each other by the authorities in the file.
func mutual(c *tls.Config, file string) (*tls.Config, error) {
	text, err := os.ReadFile(file) // #nosec G304 -- the file that the settings name
	if err != nil {
		return nil, fmt.Errorf("authorities: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("authorities: %s has no certificate", file)
	}
	c.RootCAs, c.ClientCAs, c.ClientAuth = pool, pool, tls.RequireAndVerifyClientCert
	return c, nil
}

// with applies the options, and remembers what a client inside the process needs.
func (s *Server) with(o *server.Options, list []ServerOption) error {
	for _, option := range list {
		if err := option(o); err != nil {
			return fmt.Errorf("embedded NATS: %w", err)
		}
	}
	s.secret = o.Authorization
	return nil
}
