package plan

import (
	_ "embed"
	"strings"
)

//go:embed lexicon.txt
var lexiconText string

// lexicon has the word lists of lexicon.txt, which explains each.
var lexicon = readLexicon(lexiconText)

type lexicons struct {
	stops, fillers, verbs, suffixes, general, negations, comparatives, superlatives, vague map[string]bool
	// by stem
	synonyms         map[string]map[string]bool
	numerals, months map[string]string
}

func readLexicon(text string) lexicons {
	lists, name := map[string][]string{}, ""
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for _, w := range strings.Fields(line) {
			if list, ok := strings.CutSuffix(w, ":"); ok {
				name = list
				continue
			}
			lists[name] = append(lists[name], w)
		}
	}
	l := lexicons{
		verbs: set(lists["verbs"]), suffixes: set(lists["suffixes"]), general: set(lists["general"]),
		stops: set(lists["stops"]), fillers: set(lists["fillers"]), negations: set(lists["negations"]),
		comparatives: set(lists["comparatives"]), superlatives: set(lists["superlatives"]), vague: set(lists["vague"]),
		synonyms: map[string]map[string]bool{}, numerals: pairs(lists["numerals"]), months: pairs(lists["months"]),
	}
	for group := range strings.SplitSeq(strings.Join(lists["synonyms"], " "), ";") {
		for _, w := range strings.Fields(group) {
			for _, synonym := range strings.Fields(group) {
				if l.synonyms[stem(w)] == nil {
					l.synonyms[stem(w)] = map[string]bool{}
				}
				l.synonyms[stem(w)][stem(synonym)] = true
			}
		}
	}
	return l
}

func set(words []string) map[string]bool {
	out := map[string]bool{}
	for _, w := range words {
		out[w] = true
	}
	return out
}

func pairs(words []string) map[string]string {
	out := map[string]string{}
	for _, w := range words {
		k, v, _ := strings.Cut(w, "=")
		out[k] = v
	}
	return out
}
