package offline

import (
	_ "embed"
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
	phrases     = stemmed(pairs("phrases"))
	full        = pairs("full")
	stops       = set("stops", same)
	operators   = set("operators", same)
	requests    = set("requests", same)
	fillers     = set("fillers", plural)
	verbs       = set("verbs", forms)
	states      = set("states", forms)
	narrowing   = set("narrowing", same)
	suffixes    = set("suffixes", same)
	generics    = set("generics", stems)
	affirmative = set("affirmative", same)
	negative    = set("negative", same)
	opposites   = pairs("opposites")
	vague       = set("vague", stems)
	units       = pairs("units")
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

func same(w string) []string   { return []string{w} }
func plural(w string) []string { return []string{w, w + "s"} }
func stems(w string) []string  { return []string{stem(w)} }

// forms returns a word and its inflections.
func forms(w string) []string {
	e, y := strings.TrimSuffix(w, "e"), strings.TrimSuffix(w, "y")
	double := w + w[len(w)-1:]
	return []string{w, w + "s", e + "ed", e + "ing", y + "ies", y + "ied", double + "ing", double + "ed"}
}

// alternatives returns the words of a list as an element of a pattern, see find.
func alternatives(list string) string { return strings.Join(lexicon[list], "|") }

func pairs(list string) map[string]string {
	out := map[string]string{}
	for _, w := range lexicon[list] {
		k, v, _ := strings.Cut(w, "=")
		out[k] = strings.ReplaceAll(v, "_", " ")
	}
	return out
}

// groups returns for each stem the stems of its groups of synonyms.
func groups(list string) map[string][]string {
	out := map[string][]string{}
	for group := range strings.SplitSeq(strings.Join(lexicon[list], " "), ";") {
		var stems []string
		for w := range strings.FieldsSeq(group) {
			stems = append(stems, stem(w))
		}
		for _, s := range stems {
			out[s] = append(out[s], stems...)
		}
	}
	return out
}

// stemmed returns phrases by the stems of their words.
func stemmed(phrases map[string]string) map[string]string {
	out := map[string]string{}
	for phrase, low := range phrases {
		words := strings.Split(phrase, "-")
		for i, w := range words {
			words[i] = stem(w)
		}
		out[strings.Join(words, "-")] = low
	}
	return out
}
