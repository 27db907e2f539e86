package openai

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"cairn/services/internal/model/served"
)

// settings are the parts of a model's URL.
type settings struct {
	url    string // as opened
	base   *url.URL
	model  string
	common served.Settings
}

func parse(rawURL string) (settings, error) {
	s := settings{url: rawURL, common: served.Defaults()}
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

func (s *settings) set(name, value string) error {
	if name == "path" {
		s.base.Path = "/" + strings.Trim(value, "/") + "/"
		return nil
	}
	if ok, err := s.common.Set(name, value); ok {
		return err
	}
	return fmt.Errorf("setting %q: expected %s or path", name, served.SettingNames)
}
