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
	// A search that takes longer is of no use to who waits for it.
	searchTime = 4 * time.Second
	// A full bulk takes a second; a server that is busy merging may take many.
	writeTime = 30 * time.Second
	// Making an index waits for its shard.
	adminTime = 15 * time.Second
)

// kinds are what is searched for; each has an index of its own. In one index
// the many documents of one kind would crowd out the few of another.
var kinds = []string{"agent", "skill", "tool"}

// elastic is an index in Elasticsearch, shared with other processes. It keeps
// no documents itself.
type elastic struct {
	settings
	embedder embed.Embedder
	link     *link
	plan     atomic.Pointer[plan]
	filled   atomic.Pointer[generation] // what Apply writes to; nil: to be looked up
}

// settings are what the URL says beside the server, and the catalog's name.
type settings struct {
	prefix string        // of the names of indices
	search time.Duration // the longest time of a search
	log    string        // the catalog; revisions of another one say nothing
}

func openElastic(address string, e embed.Embedder, log string) (*elastic, error) {
	server, err := url.Parse(address)
	if err != nil {
		// What is wrong may be a part of the password.
		return nil, errors.New("index: want http://user:password@host:port, what is special in a password percent-encoded")
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

// prefixes keeps names apart: whatever follows the prefix begins with a dash
// and a kind.
var prefixes = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

func parseSettings(given url.Values) (settings, error) {
	for key := range given {
		if !slices.Contains([]string{"prefix", "timeout"}, key) {
			return settings{}, fmt.Errorf("setting %q: want prefix or timeout", key)
		}
	}
	s := settings{prefix: cmp.Or(given.Get("prefix"), "cairn"), search: searchTime}
	if !prefixes.MatchString(s.prefix) {
		return s, fmt.Errorf("prefix %q: want small letters, digits, dashes", s.prefix)
	}
	if t := given.Get("timeout"); t != "" {
		var err error
		if s.search, err = time.ParseDuration(t); err != nil || s.search <= 0 {
			return s, fmt.Errorf("timeout %q: want a duration such as 4s", t)
		}
	}
	return s, nil
}

func (e *elastic) Close() error {
	e.link.close()
	return nil
}

// alias is the name under which documents of a kind are searched.
func (s settings) alias(kind string) string { return s.prefix + "-" + kind }

// space returns what the embedder's vectors are like. A server that was never
// reached has to be asked.
func (e *elastic) space(ctx context.Context) (embed.Space, error) {
	if e.embedder.Space().Dimensions == 0 {
		if _, err := embedTexts(ctx, e.embedder, embed.Query, []string{"dimensions"}); err != nil {
			return embed.Space{}, fmt.Errorf("ask for the dimensions: %w", err)
		}
	}
	space := e.embedder.Space()
	if space.Dimensions == 0 {
		return space, fmt.Errorf("model %q does not say how many dimensions it has", space.Name)
	}
	return space, nil
}
