package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"sync/atomic"
	"time"

	"cairn/services/internal/embed"
)

const (
	// Gateways time out after about 5 s.
	searchTime = 4 * time.Second
	// A full bulk request takes 1 s, and many seconds while the server merges segments.
	writeTime = 30 * time.Second
	// Creating an index waits for its primary shard.
	adminTime = 15 * time.Second
)

// kinds are the searchable kinds. Each has its own index: in a common one, the
// many documents of one kind would crowd out the few of another.
var kinds = []string{"agent", "skill", "tool"}

// elastic is an index in Elasticsearch, shared with other processes. It keeps no
// documents in memory. Its methods are grouped by API: generations, writes (elastic_apply.go),
// searches, promotion and status.
type elastic struct {
	settings
	embedder embed.Embedder
	link     *link
	plan     atomic.Pointer[plan]
	filled   atomic.Pointer[generation] // the generation that Apply writes to; nil: not looked up yet
}

// settings are the URL's parameters and the name of the catalog.
type settings struct {
	prefix string        // of index names
	search time.Duration // timeout of a search
	log    string        // ID of the catalog; revisions of another one are not comparable
}

func openElastic(address string, e embed.Embedder, log string) (*elastic, error) {
	server, err := url.Parse(address)
	if err != nil {
		// The URL is not printed: the invalid part may belong to the password.
		return nil, errors.New("index: expected http://user:password@host:port, special characters of a password percent-encoded")
	}
	if server.Host == "" {
		return nil, fmt.Errorf("index %q: no host", server.Redacted())
	}
	s, err := parseSettings(server.Query())
	if err != nil {
		return nil, fmt.Errorf("index %q: %w", server.Redacted(), err)
	}
	s.log = log
	server.RawQuery = ""
	l, err := newLink(server)
	if err != nil {
		return nil, fmt.Errorf("index %q: %w", server.Redacted(), err)
	}
	return &elastic{settings: s, embedder: e, link: l}, nil
}

// prefixes excludes characters that would make two prefixes ambiguous: the rest
// of an index name begins with a dash and a kind.
var prefixes = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

func parseSettings(given url.Values) (settings, error) {
	for key := range given {
		if !slices.Contains([]string{"prefix", "timeout"}, key) {
			return settings{}, fmt.Errorf("setting %q: expected prefix or timeout", key)
		}
	}
	s := settings{prefix: cmp.Or(given.Get("prefix"), "cairn"), search: searchTime}
	if !prefixes.MatchString(s.prefix) {
		return s, fmt.Errorf("prefix %q: expected lower-case letters, digits, dashes", s.prefix)
	}
	if t := given.Get("timeout"); t != "" {
		var err error
		if s.search, err = time.ParseDuration(t); err != nil || s.search <= 0 {
			return s, fmt.Errorf("timeout %q: expected a duration such as 4s", t)
		}
	}
	return s, nil
}

func (e *elastic) Close() error {
	e.link.close()
	return nil
}

// alias returns the name under which documents of a kind are searched.
func (s settings) alias(kind string) string { return s.prefix + "-" + kind }

// space returns the embedder's vector space. It embeds a text when the server has
// not reported the dimensions yet.
func (e *elastic) space(ctx context.Context) (embed.Space, error) {
	if e.embedder.Space().Dimensions == 0 {
		if _, err := embedTexts(ctx, e.embedder, embed.Query, []string{"dimensions"}); err != nil {
			return embed.Space{}, fmt.Errorf("query the dimensions: %w", err)
		}
	}
	space := e.embedder.Space()
	if space.Dimensions == 0 {
		return space, fmt.Errorf("model %q does not report its dimensions", space.Name)
	}
	return space, nil
}
