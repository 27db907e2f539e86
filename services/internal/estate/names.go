package estate

import (
	"math"
	"slices"
	"strings"
)

// nameWords are the last segments of fields that name records, in order of preference.
var nameWords = []string{
	"name", "hostname", "fqdn", "title", "displayname", "label", "login", "id", "arn", "address", "path", "key", "value",
}

// nameField returns the field that names the records of an array: the name of a map's members; a field of at least
// half of the records that is called name or another of nameWords, also in metadata or tags; one whose name ends
// in name or id; the first text; the first field.
func nameField(a *array) string {
	if a.isMap {
		return keyAlways
	}
	best, bestRank := "", math.MaxInt
	for _, f := range a.profile.fields {
		if rank := nameRank(f); rank < bestRank && 2*f.Count >= a.count {
			best, bestRank = f.Path, rank
		}
	}
	return best
}

// nameRank orders fields by how well they name records.
func nameRank(f Field) int {
	const depths = 4
	outer, last := "", f.Path
	if dot := strings.LastIndexByte(f.Path, '.'); dot >= 0 {
		outer, last = f.Path[:dot], f.Path[dot+1:]
	}
	word := foldSpelling(last)
	depth := 3
	switch strings.ToLower(outer) {
	case "":
		depth = 0
	case "metadata", "tags":
		depth = 1
	}
	rank := slices.Index(nameWords, word)
	switch id := slices.Index(nameWords, "id"); {
	case typeBits(f.Types)&(1<<kindString|1<<kindNumber) == 0:
		rank = len(nameWords) + 2
	case rank >= 0:
	case strings.HasSuffix(word, "name") && depth < 3:
		rank, depth = id-1, 2
	case strings.HasSuffix(word, "id") && depth < 3:
		rank, depth = id, 2
	case slices.Contains(f.Types, kindNames[kindString]):
		rank = len(nameWords)
	default:
		rank = len(nameWords) + 1
	}
	return depths*rank + depth
}
