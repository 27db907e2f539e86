package schemas

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxID is the maximum length of an id in characters.
	maxID = 256
	// maxItems is the maximum number of items of a list in a request.
	maxItems = 1000
)

// GlobalTenant denotes the global scope in keys and subjects. It is rejected as a
// tenant_id.
const GlobalTenant = "_global"

// check collects the invalid fields of a request.
type check []FieldError

// Limits of an error response: the number of invalid fields, and the characters
// of a reported value.
const (
	maxFieldErrors = 20
	maxValueLength = 200
)

func (c *check) fail(field, format string, args ...any) {
	if len(*c) >= maxFieldErrors {
		return
	}
	*c = append(*c, FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
}

// truncateValue truncates s to maxValueLength characters.
func truncateValue(s string) string { return truncate(s, maxValueLength) }

// truncate truncates s to at most maximum characters and replaces invalid UTF-8.
func truncate(s string, maximum int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if utf8.RuneCountInString(s) <= maximum {
		return s
	}
	return string([]rune(s)[:maximum]) + "…"
}

// as returns invalid with the collected fields, or nil if there are none.
func (c check) as(invalid *Error) error {
	if len(c) == 0 {
		return nil
	}
	return invalid.With(c...)
}

// length bounds the characters of a text, and reports whether the text is valid.
func (c *check) length(field, s string, minimum, maximum int) bool {
	n := utf8.RuneCountInString(s)
	switch {
	case !utf8.ValidString(s):
		c.fail(field, "must be valid UTF-8")
	case n < minimum && n == 0:
		c.fail(field, "required, and must not be empty")
	case n < minimum || n > maximum:
		c.fail(field, "expected %d to %d characters, got %d", minimum, maximum, n)
	default:
		return true
	}
	return false
}

// id validates a dotted id of at least segments segments.
func (c *check) id(field, s string, segments int) {
	if !c.length(field, s, 1, maxID) {
		return
	}
	parts := strings.Split(s, ".")
	switch {
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		c.fail(field, "must not contain white space or control characters, got %q", s)
	case slices.Contains(parts, ""):
		c.fail(field, "must not contain an empty segment, got %q", s)
	case len(parts) < segments:
		c.fail(field, "expected at least %d dot-separated segments, got %q", segments, s)
	}
}

// atMost bounds the number of items of a list or members of an object, and reports whether it is valid.
func (c *check) atMost(field string, n, maximum int) bool {
	if n > maximum {
		c.fail(field, "expected at most %d items, got %d", maximum, n)
	}
	return n <= maximum
}

// ids validates a list of dotted ids.
func (c *check) ids(field string, list []string) {
	if !c.atMost(field, len(list), maxItems) {
		return
	}
	for i, s := range list {
		c.id(fmt.Sprintf("%s[%d]", field, i), s, 1)
	}
}

// tenant validates an optional tenant id; nil is the global scope.
func (c *check) tenant(field string, t *string) {
	switch {
	case t == nil:
	case *t == "":
		c.fail(field, "must not be empty; omit it for the global scope")
	case *t == GlobalTenant:
		c.fail(field, "%s is reserved; omit tenant_id for the global scope", GlobalTenant)
	default:
		c.id(field, *t, 1)
	}
}

func (c *check) between(field string, n *int, minimum, maximum int) {
	if n != nil && (*n < minimum || *n > maximum) {
		c.fail(field, "expected an integer from %d to %d, got %d", minimum, maximum, *n)
	}
}

func (c *check) optionalID(field, s string) {
	if s != "" {
		c.id(field, s, 1)
	}
}

// texts validates a list of short texts.
func (c *check) texts(field string, list []string) {
	if !c.atMost(field, len(list), maxCardItems) {
		return
	}
	for i, s := range list {
		c.length(fmt.Sprintf("%s[%d]", field, i), s, 0, maxCardURL)
	}
}

func (c *check) optionalURL(field, s string) {
	if s != "" {
		c.webURL(field, s)
	}
}

// webURL validates an absolute URL of HTTP.
func (c *check) webURL(field, s string) {
	if !c.length(field, s, 1, maxCardURL) {
		return
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		c.fail(field, "expected an absolute URL with https or http, got %q", s)
	}
}

// values validates a list of values to compare with.
func (c *check) values(field string, list []string) {
	c.atMost(field, len(list), maxLabels)
	for i, s := range list[:min(len(list), maxLabels)] {
		c.length(fmt.Sprintf("%s[%d]", field, i), s, 1, maxValue)
	}
}
