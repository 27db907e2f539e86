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
	short, opposites, units      = pairs("short"), pairs("opposites"), pairs("units")
	numerals, months, metrics    = pairs("numerals"), pairs("months"), pairs("metrics")
	textTests, partTests         = pairs("textTests"), pairs("partTests")
	stops, operators, requests   = set("stops", same), set("operators", same), set("requests", same)
	narrowing, suffixes, endings = set("narrowing", same), set("suffixes", same), set("endings", same)
	affirmative, negative        = set("affirmative", same), set("negative", same)
	persons, contractions        = set("persons", same), pairs("contractions")
	fillers, generics, vague     = set("fillers", plural), set("generics", stems), set("vague", stems)
	verbs, states                = set("verbs", forms), set("states", forms)
	phrases, synonyms            = stemmed("phrases"), groups("synonyms")
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
	e, y, double := strings.TrimSuffix(w, "e"), strings.TrimSuffix(w, "y"), w+w[len(w)-1:]
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
		alike := mapped(strings.Fields(group), stem)
		for _, s := range alike {
			out[s] = append(out[s], alike...)
		}
	}
	return out
}

// stemmed returns phrases by the stems of their words.
func stemmed(list string) map[string]string {
	out := map[string]string{}
	for phrase, low := range pairs(list) {
		out[strings.Join(mapped(strings.Split(phrase, "-"), stem), "-")] = low
	}
	return out
}
