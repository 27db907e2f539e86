package offline

import "strings"

// Bounds on planning: its work is at most linear in the words of a question and
// in the names and values of an estate.
const (
	maxWords       = 256 // of a question
	maxQuestions   = 8   // that a follow-up may refer back to, the question included
	maxOccurrences = 16  // of one name or value in a question
	maxNameWords   = 32  // of a name, from its end
)

// vocabulary reports which names a question can match, without comparing all pairs of
// words. It is not safe for concurrent use.
type vocabulary struct {
	stems    map[string]bool // of the words, with stems that differ by an ending
	groups   map[int]bool    // of synonyms
	segments map[string]bool // whether the question may name a path segment
}

func newVocabulary(q []word) *vocabulary {
	v := &vocabulary{stems: map[string]bool{}, groups: map[int]bool{}, segments: map[string]bool{}}
	for _, w := range q {
		v.add(w.stem)
		v.add(stem(strings.TrimPrefix(strings.TrimPrefix(w.low, "non"), "un")))
	}
	return v
}

func (v *vocabulary) add(stem string) {
	v.stems[stem] = true
	for e := range endings {
		v.stems[stem+e] = true
		if base, ok := strings.CutSuffix(stem, e); ok {
			v.stems[base] = true
		}
	}
	for _, g := range synonyms[stem] {
		v.groups[g] = true
	}
}

// names reports whether the question may name the path or a part of it.
func (v *vocabulary) names(path string) bool {
	for segment := range strings.SplitSeq(path, ".") {
		named, known := v.segments[segment]
		if !known {
			named = v.has(nameWords(segment))
			v.segments[segment] = named
		}
		if named {
			return true
		}
	}
	return false
}

func (v *vocabulary) has(words []string) bool {
	for _, w := range words {
		s := stem(w)
		if v.stems[s] {
			return true
		}
		for _, g := range synonyms[s] {
			if v.groups[g] {
				return true
			}
		}
	}
	return false
}
