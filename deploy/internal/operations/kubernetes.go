package operations

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

const (
	// accountDirectory is the mount point of the credentials of a service account.
	accountDirectory = "/var/run/secrets/kubernetes.io/serviceaccount"
	// clusterTimeout bounds one request to the API server.
	clusterTimeout = 10 * time.Second
	// clusterAnswer bounds a response of the API server, in bytes; a Secret has at most 1 MiB.
	clusterAnswer = 2 << 20
)

// clusterSecret is an existing Kubernetes Secret, which is read and written through the
// API server. It requires the permissions get and patch.
type clusterSecret struct {
	name   string
	url    string
	token  string
	client *http.Client
}

// openClusterSecret reads the files token, ca.crt and namespace of the directory.
func openClusterSecret(directory, name string, getenv func(string) string) (*clusterSecret, error) {
	host, port := getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, errors.New("--kubernetes-secret: not running in a Kubernetes pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set")
	}
	files := map[string]string{}
	for _, file := range []string{"token", "ca.crt", "namespace"} {
		text, err := os.ReadFile(filepath.Join(directory, file)) // #nosec G304 -- a path from the configuration
		if err != nil {
			return nil, fmt.Errorf("--kubernetes-account: %w", err)
		}
		files[file] = strings.TrimSpace(string(text))
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM([]byte(files["ca.crt"])) {
		return nil, errors.New("--kubernetes-account: ca.crt contains no certificate")
	}
	server := url.URL{Scheme: "https", Host: net.JoinHostPort(host, port)}
	return &clusterSecret{
		name:  name,
		url:   server.JoinPath("api/v1/namespaces", files["namespace"], "secrets", name).String(),
		token: files["token"], client: &http.Client{Timeout: clusterTimeout, Transport: &http.Transport{
			DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12},
		}},
	}, nil
}

// has reports whether the Secret has a value for the key.
func (s *clusterSecret) has(ctx context.Context, key string) (bool, error) {
	body, err := s.do(ctx, http.MethodGet, nil)
	if err != nil {
		return false, err
	}
	var secret struct {
		Data map[string]string `json:"data"`
	}
	if err := json.Unmarshal(body, &secret); err != nil {
		return false, fmt.Errorf("read Secret %s: %w", s.name, err)
	}
	return secret.Data[key] != "", nil
}

// set adds values to the Secret and keeps its other values.
func (s *clusterSecret) set(ctx context.Context, values map[string]string) error {
	body, err := json.Marshal(map[string]any{"stringData": values})
	if err != nil {
		return err
	}
	_, err = s.do(ctx, http.MethodPatch, body)
	return err
}

func (s *clusterSecret) do(ctx context.Context, method string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("secret %s: %w", s.name, err)
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Content-Type", "application/merge-patch+json")
	res, err := s.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("secret %s: %w", s.name, err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, clusterAnswer))
	if err != nil {
		return nil, fmt.Errorf("secret %s: %w", s.name, err)
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("secret %s: %s failed with %s; the Secret must exist and the service account needs the permissions get and patch", s.name, method, res.Status)
	}
	return answer, nil
}
