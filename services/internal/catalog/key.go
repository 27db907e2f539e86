package catalog

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"cairn/schemas"
)

// ErrBadKey is what a Key is refused with that names no record: an unknown
// kind, an id with an empty segment, or more than a NATS subject can carry.
var ErrBadKey = errors.New("not a catalog key")

// maxKey is the longest encoded key in bytes. A NATS server takes protocol
// lines of 4,096 bytes; ids and tenants of 256 characters need at most 2,800.
const maxKey = 3072

// Key names a record.
type Key struct {
	Kind   string // one of schemas.Kinds
	Tenant string // empty: the global collection
	ID     string // dotted, without empty segments
}

// String is the key as the bucket spells it, <kind>.<tenant>.<id>, whether or
// not it is a good one.
func (k Key) String() string {
	tenant := schemas.GlobalTenant
	if k.Tenant != "" {
		tenant = encodeToken(k.Tenant)
	}
	segments := strings.Split(k.ID, ".")
	for i, s := range segments {
		segments[i] = encodeToken(s)
	}
	return k.Kind + "." + tenant + "." + strings.Join(segments, ".")
}

// ParseKey is the inverse of Key.String: it refuses, with ErrBadKey, whatever
// no good Key is spelled as.
func ParseKey(s string) (Key, error) {
	kind, rest, _ := strings.Cut(s, ".")
	tenant, id, _ := strings.Cut(rest, ".")
	key := Key{Kind: kind}
	if tenant != schemas.GlobalTenant {
		key.Tenant = decodeToken(tenant)
	}
	segments := strings.Split(id, ".")
	for i, t := range segments {
		segments[i] = decodeToken(t)
	}
	key.ID = strings.Join(segments, ".")
	// Two spellings of one key would be two records of one id.
	if encoded, err := key.encode(); err != nil || encoded != s {
		return Key{}, fmt.Errorf("%w: %q", ErrBadKey, s)
	}
	return key, nil
}

// encode is String for a key that names a record.
func (k Key) encode() (string, error) {
	if !schemas.KnownKind(k.Kind) {
		return "", fmt.Errorf("%w: unknown kind %q", ErrBadKey, k.Kind)
	}
	if k.Tenant == schemas.GlobalTenant {
		return "", fmt.Errorf("%w: the global tenant is the empty one", ErrBadKey)
	}
	if k.ID == "" || k.ID[0] == '.' || k.ID[len(k.ID)-1] == '.' || strings.Contains(k.ID, "..") {
		return "", fmt.Errorf("%w: empty segment in id %q", ErrBadKey, k.ID)
	}
	s := k.String()
	if len(s) > maxKey {
		return "", fmt.Errorf("%w: id and tenant of %d and %d bytes are too long", ErrBadKey, len(k.ID), len(k.Tenant))
	}
	return s, nil
}

// encodeToken spells text as one token of a key. Text of letters, digits, - _
// and / is its own token; all other becomes = and its base64, which no such
// text begins with. Escaping byte by byte would need three times the room.
func encodeToken(text string) string {
	if strings.IndexFunc(text, unsafeRune) < 0 {
		return text
	}
	return "=" + base64.RawURLEncoding.EncodeToString([]byte(text))
}

// decodeToken is the inverse of encodeToken; what encodeToken never makes
// comes back as something that encodes to another token.
func decodeToken(token string) string {
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

// unsafeRune reports whether a key cannot hold the rune as it is. ADR-8 allows
// = as well; it marks encoded tokens here.
func unsafeRune(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	default:
		return r != '-' && r != '_' && r != '/'
	}
}
