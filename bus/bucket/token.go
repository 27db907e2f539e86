package bucket

import (
	"encoding/base64"
	"strings"
)

// EncodeToken encodes text as one token of a key. Text that consists of letters,
// digits, - _ and / is unchanged; other text becomes = followed by its base64.
// Escaping single bytes would be three times as long.
func EncodeToken(text string) string {
	if strings.IndexFunc(text, unsafeRune) < 0 {
		return text
	}
	return "=" + base64.RawURLEncoding.EncodeToString([]byte(text))
}

// DecodeToken is the inverse of EncodeToken. Its result for an invalid token
// encodes to another token.
func DecodeToken(token string) string {
	encoded, ok := strings.CutPrefix(token, "=")
	if !ok {
		return token
	}
	text, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return token
	}
	return string(text)
}

// unsafeRune reports whether a rune must be encoded. ADR-8 also allows =, which
// marks encoded tokens here.
func unsafeRune(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	default:
		return r != '-' && r != '_' && r != '/'
	}
}
