package schemas

import (
	"fmt"
	"strconv"
	"strings"
)

// ConsistencyToken is a revision of a catalog. A read with the token includes every
// write up to that revision. Its text is ID-REVISION, or REVISION.
type ConsistencyToken struct {
	Catalog  string // ID of the catalog; empty: the current one
	Revision uint64
}

// String returns the text of t.
func (t ConsistencyToken) String() string {
	text := strconv.FormatUint(t.Revision, 10)
	if t.Catalog != "" {
		text = t.Catalog + "-" + text
	}
	return text
}

const (
	// MaxToken bounds the text of a token, in bytes.
	MaxToken = 128
	// TokenPattern matches the text of a token: an ECMA-262 and RE2 regular expression. The
	// ID of the catalog is of visible ASCII characters without a comma.
	TokenPattern = `^([!-+\--~]+-)?[0-9]{1,19}$`
)

// maxRevisionDigits is the number of digits of the highest revision that TokenPattern matches.
const maxRevisionDigits = 19

// ParseConsistencyToken returns the token of the text, which TokenPattern matches.
func ParseConsistencyToken(text string) (t ConsistencyToken, err error) {
	catalog, number := "", text
	if i := strings.LastIndexByte(text, '-'); i > 0 {
		catalog, number = text[:i], text[i+1:]
	}
	invalid := strings.ContainsFunc(catalog, func(r rune) bool { return r <= ' ' || r > '~' || r == ',' })
	revision, err := strconv.ParseUint(number, 10, 64)
	if invalid || err != nil || len(number) > maxRevisionDigits || len(text) > MaxToken {
		return t, fmt.Errorf("expected a consistency token or a revision, an unsigned integer, got %.140q", text)
	}
	return ConsistencyToken{catalog, revision}, nil
}
