package openai

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// defaultFirstChunk is long enough to process a full prompt on a slow machine, and short
// enough to leave time for a retry.
const defaultFirstChunk = 60 * time.Second

// settings are the parts of a model's URL.
type settings struct {
	url        string // as opened
	base       *url.URL
	model      string
	window     int // tokens; 0: as the server reports
	firstChunk time.Duration
}

func parse(rawURL string) (settings, error) {
	s := settings{url: rawURL, firstChunk: defaultFirstChunk}
	u, err := url.Parse(rawURL)
	if err != nil {
		return s, err
	}
	s.base, s.model = &url.URL{Host: u.Host, Path: "/v1/"}, strings.Trim(u.Path, "/")
	switch u.Scheme {
	case "openai":
		s.base.Scheme = "http"
	case "openai+https":
		s.base.Scheme = "https"
	default:
		return s, fmt.Errorf("scheme %q: expected openai or openai+https", u.Scheme)
	}
	switch {
	case u.User != nil: // the URL is shown to users and logged
		return s, errors.New("set the key in OPENAI_API_KEY, not in the URL")
	case u.Hostname() == "":
		return s, errors.New("expected openai://host:port/model")
	case s.model == "":
		return s, errors.New("expected the name of a model after the host")
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

func (s *settings) set(name, value string) (err error) {
	switch name {
	case "path":
		s.base.Path = "/" + strings.Trim(value, "/") + "/"
	case "num_ctx":
		if s.window, err = strconv.Atoi(value); err != nil || s.window < 1 {
			return fmt.Errorf("num_ctx=%s: expected a positive number of tokens", value)
		}
	case "first_chunk":
		if s.firstChunk, err = time.ParseDuration(value); err != nil || s.firstChunk <= 0 {
			return fmt.Errorf("first_chunk=%s: expected a positive duration such as 60s", value)
		}
	default:
		return fmt.Errorf("setting %q: expected path, num_ctx or first_chunk", name)
	}
	return nil
}
