package embed

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxBatchBytes bounds a request with long texts: a batch is computed, and fails,
	// as a whole.
	maxBatchBytes = 64 << 10
	// longToken is an upper bound of the average bytes per token.
	longToken = 16
	// shortToken is a lower bound of the average bytes per token in prose. A text
	// longer than a window of such tokens is sent alone, so that its rejection affects
	// no other text.
	shortToken = 3
)

// job is a text to embed, stored at the position of its vector.
type job struct {
	position int
	text     string
}

// batches divides jobs into requests. A window of 0 is unknown.
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

// truncateWords removes the words that cannot fit into a window of that many tokens: a
// word is at least one token. The rest may still be too long.
func truncateWords(text string, window int) string {
	if window == 0 {
		return text
	}
	words := 0
	inWord := false
	for offset, r := range text {
		if unicode.IsSpace(r) {
			inWord = false
			continue
		}
		if !inWord {
			words++
			inWord = true
		}
		if words > window || offset > window*longToken {
			return truncateAtWord(text, offset)
		}
	}
	return text
}

// dropLastTenth returns text without its last tenth.
func dropLastTenth(text string) string {
	return truncateAtWord(text, len(text)*9/10)
}

// truncateAtWord truncates text before the word at byte n, or within that word if
// otherwise more than half would be lost.
func truncateAtWord(text string, n int) string {
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

// excerpt identifies a document in a log. Texts of queries are not logged.
func excerpt(purpose Purpose, text string) string {
	if purpose == Query {
		return "a query"
	}
	if len(text) > 60 {
		text = truncateAtWord(text, 60) + "…"
	}
	return text
}
