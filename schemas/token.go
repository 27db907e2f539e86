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

// maxToken is longer than any token, in bytes.
const maxToken = 128

// ParseConsistencyToken returns the token of the text.
func ParseConsistencyToken(text string) (t ConsistencyToken, err error) {
	number := text
	if i := strings.LastIndexByte(text, '-'); i > 0 {
		t.Catalog, number = text[:i], text[i+1:]
	}
	t.Revision, err = strconv.ParseUint(number, 10, 64)
	printable := !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == ',' })
	if err != nil || !printable || len(text) > maxToken {
		return t, fmt.Errorf("expected a consistency token or a revision, an unsigned integer, got %.140q", text)
	}
	return t, nil
}
