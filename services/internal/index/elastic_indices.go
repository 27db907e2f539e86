package index

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
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

var names = regexp.MustCompile(`^-(` + strings.Join(kinds, "|") + `)-([0-9a-f]{12}-[0-9]{1,9})$`)

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
	return p.withBuild(newest)
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
