package output

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// Figure is a number in an answer.
type Figure struct {
	Text        string
	Unsupported bool // by any tool result
}

// unsupportedMark follows an unsupported figure.
const unsupportedMark = " [unsupported]"

// unsupportedEnds returns the offsets in Markdown after the unsupported figures, ascending.
// The figures are in the order of the text; figures that the text does not contain are skipped.
func unsupportedEnds(markdown string, figures []Figure) (ends []int) {
	source := []byte(markdown)
	segments := textSegments(source)
	n, from := 0, 0
	for _, figure := range figures {
		for i, offset := n, from; i < len(segments); i, offset = i+1, 0 {
			s := segments[i]
			at := locate(string(source[s.Start:s.Stop]), figure.Text, offset)
			if at < 0 {
				continue
			}
			n, from = i, at+len(figure.Text)
			if figure.Unsupported {
				ends = append(ends, s.Start+from)
			}
			break
		}
	}
	return ends
}

// textSegments returns the parts of Markdown that are text, not syntax or the destination
// of a link.
func textSegments(source []byte) (all []text.Segment) {
	root := markdown.Parser().Parse(text.NewReader(source))
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			all = append(all, n.Segment)
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			all = append(all, n.Lines().Sliced(0, n.Lines().Len())...)
		}
		return ast.WalkContinue, nil
	})
	return all
}

// locate returns the offset of a number in a text, at or after from, that is not a part of a
// longer number or of a word; -1: none.
func locate(text, number string, from int) int {
	for at := from; number != "" && at <= len(text); {
		next := strings.Index(text[at:], number)
		if next < 0 {
			return -1
		}
		at += next
		if !continues(text[:at], text[at+len(number):]) {
			return at
		}
		at++
	}
	return -1
}

// continues reports whether a number between two texts is a part of a longer one.
func continues(before, after string) bool {
	digit := func(text string, i int) bool { return i >= 0 && i < len(text) && text[i] >= '0' && text[i] <= '9' }
	separator := func(text string, i int) bool { return i >= 0 && i < len(text) && (text[i] == '.' || text[i] == ',') }
	last, _ := utf8.DecodeLastRuneInString(before)
	end := len(before) - 1
	return unicode.IsLetter(last) || digit(before, end) || separator(before, end) && digit(before, end-1) ||
		digit(after, 0) || separator(after, 0) && digit(after, 1)
}

// marked returns text with a mark at each of the offsets, which are ascending.
func marked(text string, ends []int) string {
	for _, end := range slices.Backward(ends) {
		text = text[:end] + unsupportedMark + text[end:]
	}
	return text
}
