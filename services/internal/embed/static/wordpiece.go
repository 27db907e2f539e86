package static

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"golang.org/x/text/unicode/norm"
)

// wordPiece splits texts into tokens as BERT does. Special tokens, such as [MASK], are
// ordinary text, and unknown words have no token. The WordPiece of Ollama's package
// tokenizer is not used: it neither removes accents nor splits at symbols, and differs from
// the reference for 7,531 of the 10,005 texts of the test.
type wordPiece struct {
	normalizer bertNormalizer
	whole      map[string]int32 // tokens at the beginning of a word
	further    map[string]int32 // tokens inside a word, without their prefix
	longest    int              // bytes of the longest token
	maxWord    int              // characters of the longest word that is not unknown
	last       int32            // the highest token
}

// bertNormalizer is the normalization of the tokenizer.json format.
type bertNormalizer struct {
	Type         string `json:"type"`
	CleanText    bool   `json:"clean_text"`
	ChineseChars bool   `json:"handle_chinese_chars"`
	StripAccents *bool  `json:"strip_accents"` // null: as Lowercase
	Lowercase    bool   `json:"lowercase"`
}

func newWordPiece(data []byte) (*wordPiece, error) {
	var file struct {
		Normalizer   bertNormalizer `json:"normalizer"`
		PreTokenizer struct {
			Type string `json:"type"`
		} `json:"pre_tokenizer"`
		Model struct {
			Type    string           `json:"type"`
			Unknown string           `json:"unk_token"`
			Prefix  string           `json:"continuing_subword_prefix"`
			MaxWord int              `json:"max_input_chars_per_word"`
			Vocab   map[string]int32 `json:"vocab"`
		} `json:"model"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	for _, part := range [][2]string{
		{file.Model.Type, "WordPiece"},
		{file.Normalizer.Type, "BertNormalizer"},
		{file.PreTokenizer.Type, "BertPreTokenizer"},
	} {
		if part[0] != part[1] {
			return nil, fmt.Errorf("%q is not supported, expected %s", part[0], part[1])
		}
	}
	if len(file.Model.Vocab) == 0 || file.Model.Prefix == "" || file.Model.MaxWord < 1 {
		return nil, errors.New("expected vocab, continuing_subword_prefix and max_input_chars_per_word")
	}
	w := &wordPiece{
		normalizer: file.Normalizer,
		whole:      file.Model.Vocab,
		further:    map[string]int32{},
		maxWord:    file.Model.MaxWord,
	}
	delete(w.whole, file.Model.Unknown)
	for token, id := range w.whole {
		if id < 0 {
			return nil, fmt.Errorf("token %q has the number %d", token, id)
		}
		w.last, w.longest = max(w.last, id), max(w.longest, len(token))
		if inside, ok := strings.CutPrefix(token, file.Model.Prefix); ok {
			w.further[inside] = id
		}
	}
	return w, nil
}

// size returns one more than the highest token.
func (w *wordPiece) size() int { return int(w.last) + 1 }

// encode returns the tokens of text.
func (w *wordPiece) encode(text string) []int32 {
	text = w.normalizer.normalize(text)
	tokens := make([]int32, 0, len(text)/4+1)
	start := 0
	for offset, r := range text {
		punctuation := isPunctuation(r)
		if !punctuation && !unicode.IsSpace(r) {
			continue
		}
		tokens = w.word(tokens, text[start:offset])
		start = offset + utf8.RuneLen(r)
		if punctuation {
			tokens = w.word(tokens, text[offset:start])
		}
	}
	return w.word(tokens, text[start:])
}

// word appends the tokens of a word: the longest one that it begins with, then the
// longest one that the rest begins with, and so on.
func (w *wordPiece) word(tokens []int32, word string) []int32 {
	if len(word) > w.maxWord && utf8.RuneCountInString(word) > w.maxWord {
		return tokens
	}
	length, vocabulary := len(tokens), w.whole
	for word != "" {
		end := min(len(word), w.longest)
		for ; end > 0; end-- {
			if id, ok := vocabulary[word[:end]]; ok {
				tokens = append(tokens, id)
				break
			}
		}
		if end == 0 {
			return tokens[:length]
		}
		word, vocabulary = word[end:], w.further
	}
	return tokens
}

func (n bertNormalizer) normalize(text string) string {
	strip := n.Lowercase
	if n.StripAccents != nil {
		strip = *n.StripAccents
	}
	if strip {
		text = norm.NFD.String(text)
	}
	var b strings.Builder
	b.Grow(len(text))
	for _, r := range text {
		switch {
		case n.CleanText && (r == utf8.RuneError || isControl(r)):
			continue
		case n.CleanText && unicode.IsSpace(r):
			r = ' '
		case strip && unicode.Is(unicode.Mn, r):
			continue
		}
		if n.Lowercase {
			r = unicode.ToLower(r)
		}
		if n.ChineseChars && isChinese(r) {
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// isControl reports whether BERT drops r: a control, format or private character that
// is not white space.
func isControl(r rune) bool {
	return r != '\t' && r != '\n' && r != '\r' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co)
}

// isPunctuation reports whether BERT treats r as a word: all ASCII symbols, and the
// punctuation of Unicode.
func isPunctuation(r rune) bool {
	if r < utf8.RuneSelf {
		return r > ' ' && r < 0x7f && !isAlphanumeric(r)
	}
	return unicode.IsPunct(r)
}

func isAlphanumeric(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// isChinese reports whether BERT treats r as a word: the CJK ideographs, except 256 that
// the reference omits.
func isChinese(r rune) bool {
	switch {
	case r >= 0x4E00 && r <= 0x9FFF, r >= 0x3400 && r <= 0x4DBF, r >= 0xF900 && r <= 0xFAFF,
		r >= 0x20000 && r <= 0x2A6DF, r >= 0x2A700 && r <= 0x2B73F, r >= 0x2B740 && r <= 0x2B81F,
		r >= 0x2B920 && r <= 0x2CEAF, r >= 0x2F800 && r <= 0x2FA1F:
		return true
	}
	return false
}
