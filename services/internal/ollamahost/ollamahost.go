// Package ollamahost parses URLs of models on Ollama servers.
package ollamahost

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	ollama "github.com/ollama/ollama/types/model"
)

// Host and Port are the default address of a server.
const (
	Host = "127.0.0.1"
	Port = "11434"
)

// Model is a parsed model URL.
type Model struct {
	Base     *url.URL // of the server's API
	Name     string   // as in the URL; may contain slashes and may lack a tag
	Settings url.Values
}

// Parse parses ollama://host[:11434]/name[:tag][?settings]. With ollama+https the server
// speaks TLS, on port 443 by default. The default host is [Host].
func Parse(rawURL string) (Model, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return Model{}, err
	}
	m := Model{Name: strings.Trim(u.Path, "/")}
	if m.Base, err = Base(u); err != nil {
		return m, err
	}
	if !ollama.ParseName(m.Name).IsValid() {
		return m, fmt.Errorf("expected the name of a model after the host, not %q", m.Name)
	}
	m.Settings, err = url.ParseQuery(u.RawQuery)
	return m, err
}

// Base returns the base URL of the API of the server in u.
func Base(u *url.URL) (*url.URL, error) {
	scheme, host, port := "http", Host, Port
	switch u.Scheme {
	case "ollama":
	case "ollama+https":
		scheme, port = "https", "443"
	default:
		return nil, fmt.Errorf("scheme %q: expected ollama or ollama+https", u.Scheme)
	}
	// URLs are displayed and logged, so they must not carry credentials.
	if u.User != nil {
		return nil, errors.New("a user or password in the URL is not supported")
	}
	if h := u.Hostname(); h != "" {
		host = h
	}
	if p := u.Port(); p != "" {
		port = p
	}
	return &url.URL{Scheme: scheme, Host: net.JoinHostPort(host, port)}, nil
}

// NewTransport returns a transport without a timeout for response headers: a server loads
// the model and processes the prompt before it sends them. The caller closes idle
// connections.
func NewTransport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 3 * time.Second}).DialContext,
		TLSHandshakeTimeout: 5 * time.Second,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     time.Minute,
	}
}
