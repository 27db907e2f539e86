package schemas

import (
	"encoding/base64"
	"unicode/utf8"
)

// Cursor is a position in a listing, after an id of a collection. Writes and
// deletions do not invalidate it.
type Cursor struct {
	Global bool // the fallback to the global scope
	After  string
}

// Next returns the encoded cursor after the id; nil after the last id, which is empty.
func (c Cursor) Next(id string) *string {
	if id == "" {
		return nil
	}
	letter := "t"
	if c.Global {
		letter = "g"
	}
	return new(base64.RawURLEncoding.EncodeToString([]byte(letter + id)))
}

// ErrCursor is the error of a cursor that no listing has returned.
var ErrCursor = ErrMalformed.With(FieldError{Field: "cursor", Message: "expected the unmodified next_cursor of a page"})

// ParseCursor decodes a cursor, or returns ErrCursor.
func ParseCursor(text string) (Cursor, error) {
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(decoded) < 2 || decoded[0] != 't' && decoded[0] != 'g' || !utf8.Valid(decoded) {
		return Cursor{}, ErrCursor
	}
	return Cursor{Global: decoded[0] == 'g', After: string(decoded[1:])}, nil
}
