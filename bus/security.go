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

// Security is the authentication and encryption of an embedded server. The zero value
// is neither.
type Security struct {
	Secret    string // token of clients: nats://SECRET@host; empty: none
	Cert, Key string // PEM files, reloaded when they change; empty: no TLS
	CA        string // PEM file of CAs for mutual TLS between nodes; empty: no TLS on routes
	Log       *slog.Logger
}

// ServerOption configures an embedded server.
type ServerOption func(*server.Options) error

// Guarded applies s to the server.
func Guarded(s Security) ServerOption {
	return func(o *server.Options) error {
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

// with applies the options and stores the token for in-process clients.
func (s *Server) with(o *server.Options, list []ServerOption) error {
	for _, option := range list {
		if err := option(o); err != nil {
			return fmt.Errorf("embedded NATS: %w", err)
		}
	}
	s.secret = o.Authorization
	return nil
}
