package schemas

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
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

// Validate returns the error of the Validate method of v, a pointer to a request, or else invalid with the
// invalid fields.
func Validate(v any, invalid *Error) error {
	if request, ok := v.(interface{ Validate() error }); ok {
		return request.Validate()
	}
	if reflect.TypeOf(v).Elem().Kind() != reflect.Struct {
		return nil
	}
	return checked(v).as(invalid)
}

// validated is a request with rules besides the limits of its fields. Each request implements it next to its type.
type validated interface{ validate(c *check) }

// checked returns the fields of v, a pointer to a request, that violate their limits or the rules of the request.
func checked(v any) (c check) {
	c.fields("", reflect.ValueOf(v).Elem())
	if request, ok := v.(validated); ok {
		request.validate(&c)
	}
	return c
}

// limited is a field that has a limit, or is a struct or a list of structs that may have fields with limits.
type limited struct {
	limit
	name     string
	index    []int
	optional bool
}

var limitedFields sync.Map // []limited by reflect.Type

// limitedFieldsOf returns the fields of the struct t that are to be checked.
func limitedFieldsOf(t reflect.Type) (list []limited) {
	if fields, ok := limitedFields.Load(t); ok {
		return fields.([]limited)
	}
	for _, f := range fieldsOf(t) {
		l, _ := limitOf(t, f)
		field := limited{l, jsonName(f), f.Index, strings.Contains(f.Tag.Get("json"), ",omit")}
		if _, ok := reflect.Zero(f.Type).Interface().(alternatives); ok && f.Type.Kind() == reflect.Struct {
			field.index = append(slices.Clone(f.Index), 0) // Record.Fields
		}
		nested := f.Type.Kind()
		if nested == reflect.Pointer || nested == reflect.Slice {
			nested = f.Type.Elem().Kind()
		}
		if l.check != nil || nested == reflect.Struct {
			list = append(list, field)
		}
	}
	limitedFields.Store(t, list)
	return list
}

// fields checks the fields of the struct v, whose paths begin with prefix.
func (c *check) fields(prefix string, v reflect.Value) {
	for _, f := range limitedFieldsOf(v.Type()) {
		path, value := prefix+f.name, v.FieldByIndex(f.index)
		if f.optional && value.IsZero() {
			continue
		}
		if value.Kind() == reflect.Pointer && !value.IsNil() {
			value = value.Elem()
		}
		valid := len(*c)
		if f.check != nil && value.Kind() != reflect.Pointer {
			f.check(c, path, value)
		}
		switch {
		case len(*c) > valid:
		case value.Kind() == reflect.Struct:
			c.fields(path+".", value)
		case value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.Struct:
			for i := range value.Len() {
				c.fields(fmt.Sprintf("%s[%d].", path, i), value.Index(i))
			}
		}
	}
}

// length bounds the characters of a text; a maximum of 0 means no limit. It reports whether the text is valid.
func (c *check) length(field, s string, minimum, maximum int) bool {
	n := utf8.RuneCountInString(s)
	switch {
	case !utf8.ValidString(s):
		c.fail(field, "must be valid UTF-8")
	case n < minimum && n == 0:
		c.fail(field, "required, and must not be empty")
	case maximum == 0:
		return true
	case minimum == 0 && n > maximum:
		c.fail(field, "expected at most %d characters, got %d", maximum, n)
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

// kindID validates the id of a request for a record of the kind.
func (c *check) kindID(kind, id string) { c.id("id", id, segments(kind)) }

// replacement validates the field replaced_by of the record of the id in a registration.
func (c *check) replacement(kind, id string, m Metadata) {
	if m.ReplacedBy == "" {
		return
	}
	field := Wrapper(kind) + ".replaced_by"
	c.id(field, m.ReplacedBy, segments(kind))
	switch {
	case m.Status != StatusDeprecated && m.Status != StatusRetired:
		c.fail(field, "expected a record with the status %s or %s, got %.100q", StatusDeprecated, StatusRetired, m.Status)
	case m.ReplacedBy == id:
		c.fail(field, "expected the id of another record, got the record itself, %q", id)
	}
}

// items bounds the number of items of a list or members of an object, and reports whether it is valid.
func (c *check) items(field string, n, minimum, maximum int) bool {
	switch {
	case n == 0 && minimum > 0:
		c.fail(field, "required, and must not be empty")
	case minimum > 0 && n > maximum:
		c.fail(field, "expected %d to %d items, got %d", minimum, maximum, n)
	case n > maximum:
		c.fail(field, "expected at most %d items, got %d", maximum, n)
	}
	return n >= minimum && n <= maximum
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
