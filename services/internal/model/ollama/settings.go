package ollama

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ollama/ollama/api"
	ollama "github.com/ollama/ollama/types/model"
)

const (
	defaultHost = "127.0.0.1"
	defaultPort = "11434"
	// Without num_ctx a server without a GPU takes 4096 tokens, too few for
	// tool results.
	defaultNumCtx = 16384
	// Long enough to load a model and read a full prompt on a slow machine,
	// short enough to leave a second attempt its time.
	defaultFirstChunk = 60 * time.Second
)

// settings is what a model's URL says.
type settings struct {
	url        string // as it was given
	base       *url.URL
	model      string
	numCtx     int
	firstChunk time.Duration
	keepAlive  *api.Duration // nil: the server's own
}

func parse(rawURL string) (settings, error) {
	s := settings{url: rawURL, numCtx: defaultNumCtx, firstChunk: defaultFirstChunk}
	u, err := url.Parse(rawURL)
	if err != nil {
		return s, err
	}
	if s.base, err = baseOf(u); err != nil {
		return s, err
	}
	s.model = strings.Trim(u.Path, "/")
	if !ollama.ParseName(s.model).IsValid() {
		return s, fmt.Errorf("want the name of a model after the host, not %q", s.model)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return s, err
	}
	for name := range query {
		if err := s.set(name, query.Get(name)); err != nil {
			return s, err
		}
	}
	return s, nil
}

// baseOf is the address of u's server.
func baseOf(u *url.URL) (*url.URL, error) {
	scheme, port := "http", defaultPort
	switch u.Scheme {
	case "ollama":
	case "ollama+https":
		scheme, port = "https", "443"
	default:
		return nil, fmt.Errorf("scheme %q: want ollama or ollama+https", u.Scheme)
	}
	// The URL is shown to users and logged.
	if u.User != nil {
		return nil, errors.New("a user or password in the URL is not supported")
	}
	host := u.Hostname()
	if host == "" {
		host = defaultHost
	}
	if p := u.Port(); p != "" {
		port = p
	}
	return &url.URL{Scheme: scheme, Host: net.JoinHostPort(host, port)}, nil
}

func (s *settings) set(name, value string) (err error) {
	switch name {
	case "num_ctx":
		if s.numCtx, err = strconv.Atoi(value); err != nil || s.numCtx < 1 {
			return fmt.Errorf("num_ctx=%s: want a positive number of tokens", value)
		}
	case "first_chunk":
		if s.firstChunk, err = time.ParseDuration(value); err != nil || s.firstChunk <= 0 {
			return fmt.Errorf("first_chunk=%s: want a positive duration such as 60s", value)
		}
	case "keep_alive":
		d, err := time.ParseDuration(value)
		if err != nil {
			return fmt.Errorf("keep_alive=%s: want a duration such as 30m; below zero is for ever", value)
		}
		s.keepAlive = &api.Duration{Duration: d}
	default:
		return fmt.Errorf("setting %q: want num_ctx, first_chunk or keep_alive", name)
	}
	return nil
}
