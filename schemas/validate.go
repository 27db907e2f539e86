package schemas

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxID is the longest id, in characters.
	maxID = 256
	// maxItems is the longest list of a request.
	maxItems = 1000
)

// GlobalTenant is how the global collection is written where a word is needed.
// It is refused as a tenant_id.
const GlobalTenant = "_global"

// check collects what is wrong with the fields of a request.
type check []FieldError

// Of what is wrong the first faults are told, and of a value its beginning: an
// answer is not larger than the mistake deserves.
const (
	maxFaults = 20
	maxShown  = 200
)

func (c *check) fail(field, format string, args ...any) {
	if len(*c) >= maxFaults {
		return
	}
	*c = append(*c, FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
}

// cut returns the first maxShown characters of s.
func cut(s string) string { return shorten(s, maxShown) }

// shorten returns the first most characters of s; bytes that are not UTF-8 are
// replaced.
func shorten(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}

// as is invalid with the collected fields; nil when nothing is wrong.
func (c check) as(invalid *Error) error {
	if len(c) == 0 {
		return nil
	}
	return invalid.With(c...)
}

func (c *check) length(field, s string, least, most int) {
	n := utf8.RuneCountInString(s)
	switch {
	case !utf8.ValidString(s):
		c.fail(field, "must be valid UTF-8")
	case n < least && n == 0:
		c.fail(field, "required, and must not be empty")
	case n < least || n > most:
		c.fail(field, "want %d to %d characters, got %d", least, most, n)
	}
}

// id checks a dotted id of at least segments segments.
func (c *check) id(field, s string, segments int) {
	before := len(*c)
	c.length(field, s, 1, maxID)
	if len(*c) > before {
		return
	}
	parts := strings.Split(s, ".")
	switch {
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		c.fail(field, "must have no white space or control characters, got %q", s)
	case slices.Contains(parts, ""):
		c.fail(field, "must have no empty segment between its dots, got %q", s)
	case len(parts) < segments:
		c.fail(field, "want at least %d segments with dots between, got %q", segments, s)
	}
}

// atMost bounds the number of items of a list or members of an object.
func (c *check) atMost(field string, n, most int) {
	if n > most {
		c.fail(field, "want at most %d items, got %d", most, n)
	}
}

// ids checks a list of dotted ids.
func (c *check) ids(field string, list []string) {
	if c.atMost(field, len(list), maxItems); len(list) > maxItems {
		return
	}
	for i, s := range list {
		c.id(fmt.Sprintf("%s[%d]", field, i), s, 1)
	}
}

// tenant checks an optional tenant id; nil and absent are global.
func (c *check) tenant(field string, t *string) {
	switch {
	case t == nil:
	case *t == "":
		c.fail(field, "must not be empty; leave it out for the global collection")
	case *t == GlobalTenant:
		c.fail(field, "%s is reserved; leave tenant_id out for the global collection", GlobalTenant)
	default:
		c.id(field, *t, 1)
	}
}

func (c *check) between(field string, n *int, least, most int) {
	if n != nil && (*n < least || *n > most) {
		c.fail(field, "want an integer from %d to %d, got %d", least, most, *n)
	}
}
