package index

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// settings are the URL's parameters and the name of the catalog.
type settings struct {
	prefix string        // of index names
	search time.Duration // timeout of a search
	log    string        // ID of the catalog; revisions of another one are not comparable
}

// alias returns the name under which documents of a kind are searched.
func (s settings) alias(kind string) string { return s.prefix + "-" + kind }

// all returns the name patterns of the indices of every kind.
func (s settings) all() (patterns []string) {
	for _, kind := range kinds {
		patterns = append(patterns, s.alias(kind)+"-*")
	}
	return patterns
}

// suffixOf returns the generation suffix of an index name; empty for a foreign index.
func (s settings) suffixOf(index string) string {
	_, suffix := s.split(index)
	return suffix
}

// kindAlias returns the search alias that belongs to an index name.
func (s settings) kindAlias(index string) string {
	kind, _ := s.split(index)
	return s.alias(kind)
}

func (s settings) split(index string) (kind, suffix string) {
	rest, ok := strings.CutPrefix(index, s.prefix)
	if match := names.FindStringSubmatch(rest); ok && match != nil {
		return match[1], match[2]
	}
	return "", ""
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
	s := settings{prefix: cmp.Or(given.Get("prefix"), "cairn"), search: searchTimeout}
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
