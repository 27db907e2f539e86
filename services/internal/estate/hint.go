package estate

import (
	"bytes"
	"strings"

	"cairn/schemas"
)

// withHint adds to the error of a text that is no JSON which format it may have.
func withHint(err *SyntaxError, text []byte) *SyntaxError {
	if hint := formatOf(text); hint != "" && err.Offset < len(text) {
		err.Reason += "; " + hint
	} else if err.Offset == len(text) && len(text) > 0 {
		err.Reason += "; the JSON may be truncated"
	}
	return err
}

// formatOf names the format of a text that is no JSON; empty if it is not recognized.
func formatOf(text []byte) string {
	text = bytes.TrimSpace(text[:min(len(text), 4<<10)])
	lines := strings.Split(string(text), "\n")
	first := strings.TrimRight(lines[0], "\r")
	commas := strings.Count(first, ",")
	switch {
	case strings.HasPrefix(first, "\xff\xfe"), strings.HasPrefix(first, "\xfe\xff"), bytes.IndexByte(text, 0) >= 0:
		return "the text may be UTF-16; expected UTF-8"
	case first == "" || strings.IndexByte(`{["`, first[0]) >= 0:
		return ""
	case strings.HasPrefix(first, "---") || strings.HasPrefix(first, "- ") || isYAMLKey(first):
		return "the text may be YAML; convert it to JSON, or request JSON from the program that printed it"
	case commas > 0 && len(lines) > 1 && strings.Count(lines[1], ",") >= commas:
		return "the text may be CSV; convert it to JSON"
	case strings.HasPrefix(first, "<"):
		return "the text may be XML or HTML"
	default:
		return ""
	}
}

// isYAMLKey reports whether a line is a YAML key with or without a value.
func isYAMLKey(line string) bool {
	key, rest, ok := strings.Cut(line, ":")
	return ok && key != "" && !strings.ContainsAny(key, `",{} `) && (rest == "" || rest[0] == ' ')
}

// nearest returns up to three names that text may mean: those whose last segment it is, or that are spelled alike.
func nearest(text string, names []string) []string {
	const most = 3
	if len(text) > maxPathBytes {
		return nil
	}
	var candidates, alike []string
	low := strings.ToLower(text)
	for _, name := range names {
		lowName := strings.ToLower(name)
		last := lowName[strings.LastIndexByte(lowName, '.')+1:]
		limit := max(1, len(low)/4)
		switch {
		case lowName == low || last == low || strings.HasSuffix(lowName, "."+low):
			candidates = append(candidates, name)
		case last == low[strings.LastIndexByte(low, '.')+1:], len(low) > 2 && strings.Contains(last, low),
			len(low) > 2 && schemas.EditDistance(low, last, limit) <= limit:
			alike = append(alike, name)
		}
	}
	candidates = append(candidates, alike...)
	return candidates[:min(most, len(candidates))]
}

// maxNoteValues bounds the values of a field in a note.
const maxNoteValues = 10

// foldSpelling returns the letters, digits and other marks of a text in lower case, without spaces, hyphens and
// underscores.
func foldSpelling(text string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' || r == '_' {
			return -1
		}
		return r
	}, strings.ToLower(text))
}
