package schemas

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// ETag returns the entity tag of a record with the consistency token (RFC 9110, 8.8.3).
func ETag(t ConsistencyToken) string { return `"` + t.String() + `"` }

// Precondition restricts a write to states of the record (RFC 9110, 13.1). Its fields are
// the texts of the headers: entity tags, separated by commas, or * for any record. An
// empty field permits every state.
type Precondition struct {
	IfMatch     string
	IfNoneMatch string
}

// Check returns ErrPreconditionFailed unless p permits a write to the record with the
// token. The zero token means that there is no record.
func (p Precondition) Check(t ConsistencyToken) error {
	switch exists := t.Revision > 0; {
	case p.IfMatch != "" && !exists:
		return ErrPreconditionFailed.Because("If-Match: there is no record")
	case p.IfMatch != "" && !TagsMatch(p.IfMatch, ETag(t), false):
		return ErrPreconditionFailed.Because("If-Match: the entity tag of the record is " + ETag(t))
	case p.IfNoneMatch != "" && exists && TagsMatch(p.IfNoneMatch, ETag(t), true):
		return ErrPreconditionFailed.Because("If-None-Match: there is a record, with the entity tag " + ETag(t))
	}
	return nil
}

// TagsMatch reports whether tags, the text of a header, contains the tag. A weak comparison ignores
// the prefix W/. In a strong comparison, a tag with this prefix matches none.
func TagsMatch(tags, tag string, weak bool) bool {
	if strings.TrimSpace(tags) == "*" {
		return true
	}
	return slices.ContainsFunc(strings.Split(tags, ","), func(candidate string) bool {
		candidate = strings.TrimSpace(candidate)
		if weak {
			candidate = strings.TrimPrefix(candidate, "W/")
		}
		return candidate == tag
	})
}

// CheckTags returns an error for a text that is neither * nor entity tags.
func CheckTags(tags string) error {
	if len(tags) > MaxTags {
		return fmt.Errorf("expected at most %d bytes, got %d", MaxTags, len(tags))
	}
	if !tagsText.MatchString(tags) {
		return fmt.Errorf("expected * or entity tags such as \"ID-7\", separated by commas, got %.140q", tags)
	}
	return nil
}

const (
	// MaxTags bounds the text of a precondition, in bytes.
	MaxTags = 4 << 10
	// TagPattern is an ECMA-262 and RE2 regular expression that matches an entity tag of
	// Cairn, which is strong and has no comma.
	TagPattern = `^"[!#-+\--~]*"$`
	// TagsPattern matches the text of a precondition, like TagPattern.
	TagsPattern = `^(\*|` + listedTag + `([ \t]*,[ \t]*` + listedTag + `)*)$`

	listedTag = `(W/)?"[!#-+\--~]*"`
)

var tagsText = regexp.MustCompile(TagsPattern)
