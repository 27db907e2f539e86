package ollama

import (
	"fmt"
	"net/url"
	"time"

	"github.com/ollama/ollama/api"

	"cairn/services/internal/model/served"
	"cairn/services/internal/ollamahost"
)

// A server without a GPU defaults to 4096 tokens, too few for tool results.
const defaultNumCtx = 16384

// settings are the parts of a model's URL.
type settings struct {
	url       string // as opened
	base      *url.URL
	model     string
	common    served.Settings
	keepAlive *api.Duration // nil: the server's default
}

func parse(rawURL string) (settings, error) {
	s := settings{url: rawURL, common: served.Defaults()}
	s.common.NumCtx = defaultNumCtx
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

func (s *settings) set(name, value string) error {
	if name == "keep_alive" {
		d, err := time.ParseDuration(value)
		if err != nil {
			return fmt.Errorf("keep_alive=%s: expected a duration such as 30m; negative: forever", value)
		}
		s.keepAlive = &api.Duration{Duration: d}
		return nil
	}
	if ok, err := s.common.Set(name, value); ok {
		return err
	}
	return fmt.Errorf("setting %q: expected %s or keep_alive", name, served.SettingNames)
}
