package ard

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// prefix begins the identifiers of all publishers.
const prefix = "urn:air:"

// tenants is the segment before the tenant of an identifier.
const tenants = "tenant"

// subject is the record that an identifier names.
type subject struct{ kind, tenant, id string }

const upperHex = "0123456789ABCDEF"

// escape encodes the id with the characters that the specification permits: letters, digits, dots,
// hyphens and underscores. Any other byte becomes an underscore and two upper-case hexadecimal
// digits, as does an underscore before two such digits, so that unescape can reverse it.
func escape(id string) string {
	var b strings.Builder
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '-', c == '_' &&
			!escaped(id[i:]):
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "_%02X", c)
		}
	}
	return b.String()
}

// escaped reports whether text begins with an underscore and two upper-case hexadecimal digits.
func escaped(text string) bool {
	return len(text) > 2 && text[0] == '_' && strings.IndexByte(upperHex, text[1]) >= 0 &&
		strings.IndexByte(upperHex, text[2]) >= 0
}

func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if !escaped(text[i:]) {
			b.WriteByte(text[i])
			continue
		}
		decoded, _ := hex.DecodeString(text[i+1 : i+3]) // two digits, as escaped checks
		b.Write(decoded)
		i += 2
	}
	return b.String()
}
