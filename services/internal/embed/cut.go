package embed

import (
	"log/slog"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxBatchBytes bounds a request when texts are long: a batch is computed
	// as a whole, and lost as a whole.
	maxBatchBytes = 64 << 10
	// longToken is more bytes than the tokens of a text have on average.
	longToken = 16
	// shortToken is fewer bytes than the tokens of prose have on average. A
	// text of more than the window of them is sent by itself, so that its
	// refusal costs no other text.
	shortToken = 3
)

// job is a text to embed, in the place of its vector.
type job struct {
	at   int
	text string
}

// batches divides jobs into what is sent in one request each. A window of 0 is
// not known.
func batches(jobs []job, count, window int) (all [][]job) {
	var next []job
	size := 0
	flush := func() {
		if len(next) > 0 {
			all = append(all, next)
		}
		next, size = nil, 0
	}
	for _, j := range jobs {
		if window > 0 && len(j.text) > window*shortToken {
			all = append(all, []job{j})
			continue
		}
		if len(next) == count || size+len(j.text) > maxBatchBytes {
			flush()
		}
		next = append(next, j)
		size += len(j.text)
	}
	flush()
	return all
}

// within cuts what can not fit into a window of so many tokens: a word is one
// at least. What is left may still be too long.
func within(text string, window int) string {
	if window == 0 {
		return text
	}
	words := 0
	inside := false
	for at, r := range text {
		if unicode.IsSpace(r) {
			inside = false
			continue
		}
		if !inside {
			words++
			inside = true
		}
		if words > window || at > window*longToken {
			return atWord(text, at)
		}
	}
	return text
}

// shorter is text without its last tenth.
func shorter(text string) string {
	return atWord(text, len(text)*9/10)
}

// atWord cuts text before the word that the byte n is in, or within that word
// when otherwise more than half would be lost.
func atWord(text string, n int) string {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	head := text[:n]
	if next, _ := utf8.DecodeRuneInString(text[n:]); !unicode.IsSpace(next) {
		if space := strings.LastIndexFunc(head, unicode.IsSpace); space > n/2 {
			head = head[:space]
		}
	}
	return strings.TrimRightFunc(head, unicode.IsSpace)
}

// note logs that a text was cut. Vectors are cached, so a document is noted
// once.
func (m *model) note(purpose Purpose, text, kept string) {
	slog.Warn("text cut to the window of the embedding model",
		"model", m.name, "bytes", len(text), "kept", len(kept), "text", beginning(purpose, text))
}

// beginning tells one text from another in a log, where what users ask has no
// place.
func beginning(purpose Purpose, text string) string {
	if purpose == Query {
		return "a query"
	}
	if len(text) > 60 {
		text = atWord(text, 60) + "…"
	}
	return text
}
