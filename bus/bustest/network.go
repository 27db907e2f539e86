package bustest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// FreeAddress returns a loopback address, host:port, as UnusedAddress does.
func FreeAddress(t testing.TB) string {
	t.Helper()
	address, err := UnusedAddress()
	Must(t, err)
	return address
}

// tried contains the ports that UnusedAddress has returned or found in use.
var tried sync.Map

// UnusedAddress returns a loopback address, host:port, whose port was unused just now and was not
// returned before by this process. The port is below the ephemeral range of Linux
// (ip_local_port_range), so that no outgoing connection takes it meanwhile.
func UnusedAddress() (string, error) {
	const first, last = 10_000, 22_000
	err := errors.New("all were returned before")
	for range 100 {
		port := first + mathrand.N(last-first)
		if _, taken := tried.LoadOrStore(port, true); taken {
			continue
		}
		var l net.Listener
		if l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return l.Addr().String(), l.Close()
		}
	}
	return "", fmt.Errorf("no unused port from %d to %d: %w", first, last, err)
}

// Certificate writes a self-signed CA certificate for 127.0.0.1 with the serial number,
// and its private key, to dir in PEM and returns the paths.
func Certificate(t testing.TB, dir string, serial int64) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	Must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	Must(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	Must(t, err)
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	Must(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	Must(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	return cert, key
}
