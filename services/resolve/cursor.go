package resolve

import (
	"encoding/base64"
	"unicode/utf8"

	"cairn/schemas"
	"cairn/services/internal/scope"
)

// cursor is a position in a listing, after an id of a collection. Writes and
// deletions do not invalidate it.
type cursor struct {
	global bool // the fallback to the global scope
	after  string
}

// tenant returns the tenant of the collection that the cursor is in.
func (c cursor) tenant(s scope.Scope) string {
	if c.global {
		return scope.Global
	}
	return string(s)
}

// next returns the encoded cursor after the id; nil after the last id.
func (c cursor) next(id string) *string {
	if id == "" {
		return nil
	}
	letter := "t"
	if c.global {
		letter = "g"
	}
	return new(base64.RawURLEncoding.EncodeToString([]byte(letter + id)))
}

var errCursor = schemas.ErrMalformed.With(schemas.FieldError{Field: "cursor", Message: "expected the unmodified next_cursor of a page"})

func parseCursor(text string) (cursor, error) {
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(decoded) < 2 || decoded[0] != 't' && decoded[0] != 'g' || !utf8.Valid(decoded) {
		return cursor{}, errCursor
	}
	return cursor{global: decoded[0] == 'g', after: string(decoded[1:])}, nil
}
