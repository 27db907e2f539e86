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

// indices are those on the server whose names are ours, by name.
type indices map[string]struct {
	Aliases  map[string]struct{} `json:"aliases"`
	Settings struct {
		Index struct {
			UUID string `json:"uuid"`
			Made string `json:"creation_date"` // milliseconds, 13 digits
		} `json:"index"`
	} `json:"settings"`
}

func (e *elastic) look(ctx context.Context) (indices, error) {
	req := esapi.IndicesGetRequest{Index: e.all(), FilterPath: []string{
		"*.aliases", "*.settings.index.uuid", "*.settings.index.creation_date",
	}}
	found := indices{}
	if err := e.link.call(ctx, adminTime, req, &found); err != nil {
		return nil, fmt.Errorf("look for indices: %w", err)
	}
	for name := range found {
		if e.markOf(name) == "" {
			delete(found, name) // not made here
		}
	}
	return found, nil
}

// all is a pattern for each kind that its indices match.
func (s settings) all() (patterns []string) {
	for _, kind := range kinds {
		patterns = append(patterns, s.alias(kind)+"-*")
	}
	return patterns
}

var names = regexp.MustCompile(`^-(` + strings.Join(kinds, "|") + `)-([0-9a-f]{12}-[0-9]{1,9})$`)

// markOf returns the mark in the name of an index, or nothing when the name is
// not ours.
func (s settings) markOf(index string) string {
	_, mark := s.split(index)
	return mark
}

// kindAlias returns the alias under which an index may be searched.
func (s settings) kindAlias(index string) string {
	kind, _ := s.split(index)
	return s.alias(kind)
}

func (s settings) split(index string) (kind, mark string) {
	rest, ok := strings.CutPrefix(index, s.prefix)
	if match := names.FindStringSubmatch(rest); ok && match != nil {
		return match[1], match[2]
	}
	return "", ""
}

// newest returns the plan for the last of its builds that was begun; for the
// first one where there is none.
func (i indices) newest(p *plan) *plan {
	newest := 1
	for name := range i {
		fingerprint, build, _ := strings.Cut(p.markOf(name), "-")
		if n, err := strconv.Atoi(build); err == nil && fingerprint == p.fingerprint {
			newest = max(newest, n)
		}
	}
	return p.at(newest)
}

func (i indices) missing(p *plan) (missing []string) {
	for _, kind := range kinds {
		if _, ok := i[p.index(kind)].Aliases[p.entrance(kind)]; !ok {
			missing = append(missing, kind)
		}
	}
	return missing
}

// name is made of what would be another one were an index made anew.
func (i indices) name(p *plan) string {
	h := sha256.New()
	for _, kind := range kinds {
		h.Write([]byte(i[p.index(kind)].Settings.Index.UUID))
	}
	return p.mark() + "-" + hex.EncodeToString(h.Sum(nil)[:4])
}

// live returns the mark of the indices that are searched; nothing, unless it is one and the same for all kinds.
func (i indices) live(s settings) string {
	searched := i.searched(s)
	for _, kind := range kinds {
		if searched[kind] == "" || searched[kind] != searched[kinds[0]] {
			return ""
		}
	}
	return searched[kinds[0]]
}

// searched returns the mark of the index that is searched, by kind.
func (i indices) searched(s settings) map[string]string {
	marks := map[string]string{}
	for name, index := range i {
		kind, mark := s.split(name)
		if _, ok := index.Aliases[s.alias(kind)]; ok {
			marks[kind] = mark
		}
	}
	return marks
}

// liveSince returns when the first of the indices was made that are searched;
// nothing when none is.
func (i indices) liveSince(s settings) (first string) {
	for name, index := range i {
		made := index.Settings.Index.Made
		if _, ok := index.Aliases[s.kindAlias(name)]; ok && (first == "" || made < first) {
			first = made
		}
	}
	return first
}
