// Package markdown writes values into CommonMark and GFM text as literal text.
package markdown

import (
	"regexp"
	"strings"
	"unicode"
)

const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

var (
	// block matches the beginning of a value that could begin a block on a separate
	// line: a list item, a heading, a quotation, a rule, a table's delimiters.
	block = regexp.MustCompile(`^(?:>|[-+=#:]+(?: |$)|\d{1,9}([.)])(?: |$))`)
	// inline matches what may have a meaning within a line.
	inline = regexp.MustCompile("(?i)[*`~|\\[<]|_+|\\\\|&[#a-z0-9]+;|://|\\bwww\\.|@[\\w-]+\\.")
)

// Escape returns value as Markdown that renders as Line(value) and nothing else:
// no link, image, HTML, emphasis, table cell or block. Characters that have no
// meaning at their position, as in vm_name or C:\x, are not escaped.
func Escape(value string) string {
	text := Line(value)
	var b strings.Builder
	if span := block.FindStringSubmatchIndex(text); span != nil {
		marker := max(span[2], 0) // the character after an item's number, else the first
		b.WriteString(text[:marker] + `\` + text[marker:marker+1])
		text = text[marker+1:]
	}
	end := 0
	for _, span := range inline.FindAllStringIndex(text, -1) {
		b.WriteString(text[end:span[0]])
		b.WriteString(escapeToken(text, span[0], span[1]))
		end = span[1]
	}
	b.WriteString(text[end:])
	return b.String()
}

// escapeToken escapes the match of inline at text[start:end].
func escapeToken(text string, start, end int) string {
	token := text[start:end]
	switch token[0] {
	case '<':
		return "&lt;" // harmless also if a program interprets the text as HTML
	case '&':
		return "&amp;" + token[1:]
	case 'w', 'W':
		return token[:3] + `\.`
	case '_':
		if startsWord(text[end:]) {
			return token // can open emphasis at most, which nothing closes
		}
		return strings.Repeat(`\_`, len(token))
	case '\\':
		if end < len(text) && !strings.Contains(punctuation, text[end:end+1]) {
			return token
		}
	}
	return `\` + token
}

// startsWord reports whether text begins with an ASCII letter or digit.
func startsWord(text string) bool {
	if text == "" {
		return false
	}
	c := text[0]
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// Line returns value on one line: white space other than no-break spaces becomes
// single spaces, and control and bidirectional formatting characters become U+FFFD.
func Line(value string) string {
	space := func(r rune) bool { return r == ' ' || unicode.IsSpace(r) && !strings.ContainsRune("\u00a0\u202f", r) }
	return visible(strings.Join(strings.FieldsFunc(strings.ToValidUTF8(value, "\uFFFD"), space), " "))
}

// visible replaces control characters other than line breaks and tabs, and
// bidirectional formatting characters.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return '\uFFFD'
		}
		return r
	}, text)
}

var escapes = regexp.MustCompile("\\\\[!-/:-@\\[-`{-~]|&lt;|&amp;")

// Plain returns Markdown with its escapes resolved, as plain text for people or
// programs that do not render it, without control characters other than line
// breaks and tabs.
func Plain(text string) string {
	return visible(escapes.ReplaceAllStringFunc(text, func(escape string) string {
		switch escape {
		case "&lt;":
			return "<"
		case "&amp;":
			return "&"
		}
		return escape[1:]
	}))
}
