package ollama

import (
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/ollama/ollama/api"

	"cairn/services/internal/ollamahost"
)

const (
	// A server without a GPU defaults to 4096 tokens, too few for tool results.
	defaultNumCtx = 16384
	// Long enough to load a model and process a full prompt on a slow machine, short
	// enough to leave time for a retry.
	defaultFirstChunk = 60 * time.Second
)

// settings are the parts of a model's URL.
type settings struct {
	url        string // as opened
	base       *url.URL
	model      string
	numCtx     int
	firstChunk time.Duration
	keepAlive  *api.Duration // nil: the server's default
}

func parse(rawURL string) (settings, error) {
	s := settings{url: rawURL, numCtx: defaultNumCtx, firstChunk: defaultFirstChunk}
	named, err := ollamahost.Parse(rawURL)
	if err != nil {
		return s, err
	}
	s.base, s.model = named.Base, named.Name
	for name := range named.Settings {
		if err := s.set(name, named.Settings.Get(name)); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (s *settings) set(name, value string) (err error) {
	switch name {
	case "num_ctx":
		if s.numCtx, err = strconv.Atoi(value); err != nil || s.numCtx < 1 {
			return fmt.Errorf("num_ctx=%s: expected a positive number of tokens", value)
		}
	case "first_chunk":
		if s.firstChunk, err = time.ParseDuration(value); err != nil || s.firstChunk <= 0 {
			return fmt.Errorf("first_chunk=%s: expected a positive duration such as 60s", value)
		}
	case "keep_alive":
		d, err := time.ParseDuration(value)
		if err != nil {
			return fmt.Errorf("keep_alive=%s: expected a duration such as 30m; negative: forever", value)
		}
		s.keepAlive = &api.Duration{Duration: d}
	default:
		return fmt.Errorf("setting %q: expected num_ctx, first_chunk or keep_alive", name)
	}
	return nil
}
