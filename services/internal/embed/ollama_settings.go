package embed

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ollama/ollama/api"
	ollama "github.com/ollama/ollama/types/model"

	"cairn/services/internal/ollamahost"
)

const (
	// defaultBatch is small: on a CPU larger batches are not faster, and they run one after the
	// other, so a query waits for the batch before it.
	defaultBatch = 16
	// defaultTimeout suffices for a batch of long documents on a slow machine.
	defaultTimeout = 60 * time.Second
	// defaultQueryTimeout is short, because a search by words alone is better than a slow one.
	defaultQueryTimeout = 2 * time.Second
	// defaultKeepAlive replaces the server's default of 5 minutes, with which the first search after a
	// pause would wait for the model to load.
	defaultKeepAlive = time.Hour
)

// settings are the parameters of a model's URL.
type settings struct {
	base         *url.URL
	name         string // with its tag
	prefixes     [2]string
	floor        float64
	numCtx       int // tokens; 0: the server's default
	dimensions   int // 0: the model's
	batch        int
	timeout      time.Duration
	queryTimeout time.Duration
	keepAlive    time.Duration
}

func parse(rawURL string) (settings, error) {
	var s settings
	named, err := ollamahost.Parse(rawURL)
	if err != nil {
		return s, err
	}
	s.base, s.name = named.Base, ollama.ParseName(named.Name).DisplayShortest()
	f := familyOf(s.name)
	s.prefixes = [2]string{Document: f.document, Query: f.query}
	s.floor = f.floor
	s.batch, s.keepAlive = defaultBatch, defaultKeepAlive
	s.timeout, s.queryTimeout = defaultTimeout, defaultQueryTimeout
	for key := range named.Settings {
		if err := s.set(key, named.Settings.Get(key)); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (s *settings) set(key, value string) (err error) {
	switch key {
	case "floor":
		s.floor, err = parseFloor(value)
	case "query_prefix":
		s.prefixes[Query] = value
	case "document_prefix":
		s.prefixes[Document] = value
	case "num_ctx":
		s.numCtx, err = parsePositive(key, value)
	case "dimensions":
		s.dimensions, err = parsePositive(key, value)
	case "batch":
		s.batch, err = parsePositive(key, value)
	case "timeout":
		s.timeout, err = parseDuration(key, value)
	case "query_timeout":
		s.queryTimeout, err = parseDuration(key, value)
	case "keep_alive":
		if s.keepAlive, err = time.ParseDuration(value); err != nil {
			return fmt.Errorf("keep_alive=%s: expected a duration such as 1h; negative: forever", value)
		}
	default:
		return fmt.Errorf("setting %q: expected floor, query_prefix, document_prefix, num_ctx, dimensions, batch, timeout, query_timeout or keep_alive", key)
	}
	return err
}

func parsePositive(key, value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s=%s: expected a positive number", key, value)
	}
	return n, nil
}

func parseDuration(key, value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%s=%s: expected a positive duration such as 60s", key, value)
	}
	return d, nil
}

// request returns a request for the vectors of inputs. The options are constant: a
// different num_ctx makes the server reload the model. Texts that are too long must
// be rejected, not truncated silently.
func (s *settings) request(inputs []string) *api.EmbedRequest {
	req := &api.EmbedRequest{
		Model:      s.name,
		Input:      inputs,
		KeepAlive:  &api.Duration{Duration: s.keepAlive},
		Truncate:   new(false),
		Dimensions: s.dimensions,
	}
	if s.numCtx > 0 {
		req.Options = map[string]any{"num_ctx": s.numCtx}
	}
	return req
}

// window returns the smaller one of the trained and the configured window, in tokens. A server
// without a configured window may use a smaller one.
func (s *settings) window(shown *api.ShowResponse) (tokens int) {
	arch, _ := shown.ModelInfo["general.architecture"].(string)
	trained, _ := shown.ModelInfo[arch+".context_length"].(float64)
	set := s.numCtx
	if set == 0 {
		set = parameter(shown.Parameters, "num_ctx")
	}
	for _, n := range []int{int(trained), set} {
		if n > 0 && (tokens == 0 || n < tokens) {
			tokens = n
		}
	}
	return tokens
}

// parameter returns a number from the model's parameter lines.
func parameter(lines, name string) int {
	for line := range strings.Lines(lines) {
		if words := strings.Fields(line); len(words) == 2 && words[0] == name {
			n, _ := strconv.Atoi(words[1]) // invalid: as if absent
			return n
		}
	}
	return 0
}
