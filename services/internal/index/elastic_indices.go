package index

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/elastic/go-elasticsearch/v8/esapi"
)

// indices are the server's indices with this prefix, by name.
type indices map[string]struct {
	Aliases  map[string]struct{} `json:"aliases"`
	Settings struct {
		Index struct {
			UUID string `json:"uuid"`
			Made string `json:"creation_date"` // Unix milliseconds, 13 digits
		} `json:"index"`
	} `json:"settings"`
}

func (e *elastic) listIndices(ctx context.Context) (indices, error) {
	req := esapi.IndicesGetRequest{Index: e.all(), FilterPath: []string{
		"*.aliases", "*.settings.index.uuid", "*.settings.index.creation_date",
	}}
	found := indices{}
	if err := e.link.call(ctx, adminTime, req, &found); err != nil {
		return nil, fmt.Errorf("list indices: %w", err)
	}
	for name := range found {
		if e.suffixOf(name) == "" {
			delete(found, name) // not created by Cairn
		}
	}
	return found, nil
}

// all returns the name patterns of the indices of every kind.
func (s settings) all() (patterns []string) {
	for _, kind := range kinds {
		patterns = append(patterns, s.alias(kind)+"-*")
	}
	return patterns
}

var names = regexp.MustCompile(`^-(` + strings.Join(kinds, "|") + `)-([0-9a-f]{12}-[0-9]{1,9})$`)

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

// newest returns the plan with the highest build found; the first build when there
// is none.
func (i indices) newest(p *plan) *plan {
	newest := 1
	for name := range i {
		fingerprint, build, _ := strings.Cut(p.suffixOf(name), "-")
		if n, err := strconv.Atoi(build); err == nil && fingerprint == p.fingerprint {
			newest = max(newest, n)
		}
	}
	return p.at(newest)
}

func (i indices) missing(p *plan) (missing []string) {
	for _, kind := range kinds {
		if _, ok := i[p.index(kind)].Aliases[p.writeAlias(kind)]; !ok {
			missing = append(missing, kind)
		}
	}
	return missing
}

// name identifies the generation; it changes when an index is created again.
func (i indices) name(p *plan) string {
	h := sha256.New()
	for _, kind := range kinds {
		h.Write([]byte(i[p.index(kind)].Settings.Index.UUID))
	}
	return p.suffix() + "-" + hex.EncodeToString(h.Sum(nil)[:4])
}

// live returns the suffix of the generation that all search aliases point to; empty if they differ.
func (i indices) live(s settings) string {
	searched := i.searched(s)
	for _, kind := range kinds {
		if searched[kind] == "" || searched[kind] != searched[kinds[0]] {
			return ""
		}
	}
	return searched[kinds[0]]
}

// searched returns the suffix of the index behind each kind's alias.
func (i indices) searched(s settings) map[string]string {
	suffixes := map[string]string{}
	for name, index := range i {
		kind, suffix := s.split(name)
		if _, ok := index.Aliases[s.alias(kind)]; ok {
			suffixes[kind] = suffix
		}
	}
	return suffixes
}

// liveSince returns the creation time of the oldest live index; empty when none is live.
func (i indices) liveSince(s settings) (first string) {
	for name, index := range i {
		made := index.Settings.Index.Made
		if _, ok := index.Aliases[s.kindAlias(name)]; ok && (first == "" || made < first) {
			first = made
		}
	}
	return first
}
