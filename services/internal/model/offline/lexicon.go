package offline

import (
	_ "embed"
	"slices"
	"strings"
)

//go:embed lexicon.txt
var lexiconText string

// lexicon has the lists of lexicon.txt, which explains each.
var lexicon = func() map[string][]string {
	out, name := map[string][]string{}, ""
	for text := range strings.Lines(lexiconText) {
		if strings.HasPrefix(text, "#") {
			continue
		}
		for _, w := range strings.Fields(text) {
			if list, ok := strings.CutSuffix(w, ":"); ok {
				name = list
				continue
			}
			out[name] = append(out[name], w)
		}
	}
	return out
}()

var (
	short       = pairs("short")
	stops       = set("stops", same)
	fillers     = set("fillers", forms)
	states      = set("states", same)
	adjectives  = set("adjectives", same)
	betweens    = set("betweens", same)
	verbs       = set("verbs", same)
	generics    = set("generics", stems)
	platforms   = set("platforms", same)
	affirmative = set("affirmative", same)
	negative    = set("negative", same)
	vague       = set("vague", stems)
	endings     = set("endings", same)
	numerals    = pairs("numerals")
	months      = pairs("months")
	metrics     = pairs("metrics")
	synonyms    = groups("synonyms")
)

// set returns the set of the words of a list, transformed by become.
func set(list string, become func(string) []string) map[string]bool {
	out := map[string]bool{}
	for _, w := range lexicon[list] {
		for _, form := range become(w) {
			out[form] = true
		}
	}
	return out
}

func same(w string) []string  { return []string{w} }
func stems(w string) []string { return []string{stem(w)} }

// forms returns a word and its inflections.
func forms(w string) []string {
	e, y := strings.TrimSuffix(w, "e"), strings.TrimSuffix(w, "y")
	return []string{w, w + "s", e + "ed", e + "ing", y + "ies", y + "ied"}
}

func pairs(list string) map[string]string {
	out := map[string]string{}
	for _, w := range lexicon[list] {
		k, v, _ := strings.Cut(w, "=")
		out[k] = v
	}
	return out
}

// groups returns for each stem its groups of synonyms.
func groups(list string) map[string][]int {
	out, group := map[string][]int{}, 0
	for _, w := range lexicon[list] {
		word, last := strings.CutSuffix(w, ";")
		if s := stem(word); len(out[s]) == 0 || out[s][len(out[s])-1] != group {
			out[s] = append(out[s], group)
		}
		if last {
			group++
		}
	}
	return out
}

// alike rates how well a word of a question matches a word of a name, both as stems: 1 if
// equal, less for a relative or synonym, 0 for neither.
func alike(asked, name string) float64 {
	if asked == name {
		return 1
	}
	base, long := asked, name
	if len(base) > len(long) {
		base, long = long, base
	}
	if rest, ok := strings.CutPrefix(long, base); ok && len(base) >= 4 && endings[rest] && !fillers[base] {
		return 0.6
	}
	for _, a := range synonyms[asked] {
		if slices.Contains(synonyms[name], a) {
			return 0.7
		}
	}
	return 0
}
