// Package certificate loads a TLS certificate and reloads it when its files change.
//
// While the files cannot be loaded, the previous certificate stays in use and each failure is
// logged. All methods may be called concurrently.
package certificate

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

const checkInterval = time.Second // minimum, of the files

// Certificate is a certificate with its key. It may be used concurrently.
type Certificate struct {
	cert, key string
	log       *slog.Logger

	mu      sync.Mutex
	loaded  *tls.Certificate
	version [2]time.Time // of the files
	checked time.Time
}

// Load reads both PEM files. Later reloads and their errors are logged to log.
func Load(cert, key string, log *slog.Logger) (*Certificate, error) {
	c := &Certificate{cert: cert, key: key, log: log}
	c.version, c.checked = c.changed(), time.Now()
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	c.loaded = &pair
	return c, nil
}

// changed returns the modification times of the files; zero for an absent one.
func (c *Certificate) changed() (times [2]time.Time) {
	for i, name := range []string{c.cert, c.key} {
		if info, err := os.Stat(name); err == nil {
			times[i] = info.ModTime()
		}
	}
	return times
}

// current returns the certificate, reloaded if its files have changed. If they are
// invalid it logs a warning and returns the previous one.
func (c *Certificate) current() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.checked) < checkInterval {
		return c.loaded
	}
	c.checked = time.Now()
	version := c.changed()
	if version == c.version {
		return c.loaded
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil { // the files may be replaced one after the other
		c.log.Warn("the new certificate cannot be read; using the previous one", "err", err)
		return c.loaded
	}
	c.loaded, c.version = &pair, version
	c.log.Info("certificate reloaded", "file", c.cert)
	return c.loaded
}

// Ends returns the time at which the current certificate expires.
func (c *Certificate) Ends() time.Time { return c.current().Leaf.NotAfter }

// Config returns a TLS configuration with the certificate, for a server or a client.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{
		MinVersion:           tls.VersionTLS12,
		GetCertificate:       func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current(), nil },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.current(), nil },
	}
}
