// Package certificate reads the certificate that a server shows of itself, and
// reads it anew when its files change.
package certificate

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// lookAgain is how often the files of a certificate are looked at, when
// connections come.
const lookAgain = time.Second

// Certificate is a certificate with its key. It may be used concurrently.
type Certificate struct {
	cert, key string
	log       *slog.Logger

	mu      sync.Mutex
	loaded  *tls.Certificate
	version [2]time.Time // of the files
	looked  time.Time
}

// Load reads both files, in PEM. What happens to them later goes to log.
func Load(cert, key string, log *slog.Logger) (*Certificate, error) {
	c := &Certificate{cert: cert, key: key, log: log}
	c.version, c.looked = c.changed(), time.Now()
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	c.loaded = &pair
	return c, nil
}

// changed is when the files were, last; a file that is not there: never.
func (c *Certificate) changed() (at [2]time.Time) {
	for i, name := range []string{c.cert, c.key} {
		if info, err := os.Stat(name); err == nil {
			at[i] = info.ModTime()
		}
	}
	return at
}

// Current is the certificate as its files have it. What cannot be read is told,
// and the one before stays.
func (c *Certificate) Current() (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) < lookAgain {
		return c.loaded, nil
	}
	c.looked = time.Now()
	version := c.changed()
	if version == c.version {
		return c.loaded, nil
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil { // perhaps one of the two is not there yet
		c.log.Warn("the new certificate cannot be read; the one before stays", "err", err)
		return c.loaded, nil
	}
	c.loaded, c.version = &pair, version
	c.log.Info("the certificate is new", "file", c.cert)
	return c.loaded, nil
}

// Ends is when the certificate ends, as its files have it.
func (c *Certificate) Ends() time.Time {
	current, _ := c.Current() // there is always one
	return current.Leaf.NotAfter
}

// Config is for a server, or a client, that shows the certificate.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{
		MinVersion:           tls.VersionTLS12,
		GetCertificate:       func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.Current() },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.Current() },
	}
}
