package edge

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

// certificate is what an edge shows of itself, read anew when its files change.
type certificate struct {
	cert, key string
	log       *slog.Logger

	mu      sync.Mutex
	loaded  *tls.Certificate
	version [2]time.Time // of the files
	looked  time.Time
}

// loadCertificate reads both files, in PEM.
func loadCertificate(cert, key string, log *slog.Logger) (*certificate, error) {
	c := &certificate{cert: cert, key: key, log: log}
	c.version, c.looked = c.changed(), time.Now()
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	c.loaded = &pair
	return c, nil
}

// changed is when the files were, last; a file that is not there: never.
func (c *certificate) changed() (at [2]time.Time) {
	for i, name := range []string{c.cert, c.key} {
		if info, err := os.Stat(name); err == nil {
			at[i] = info.ModTime()
		}
	}
	return at
}

// current is the certificate as its files have it. What cannot be read is told,
// and the one before stays.
func (c *certificate) current(*tls.ClientHelloInfo) (*tls.Certificate, error) {
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

// tlsConfig is for a server that shows the certificate.
func (c *certificate) tlsConfig() *tls.Config {
	return &tls.Config{GetCertificate: c.current, MinVersion: tls.VersionTLS12}
}
