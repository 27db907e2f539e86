package catalog

import (
	"errors"
	"fmt"
	"strings"

	"cairn/bus/bucket"
	"cairn/schemas"
)

// ErrBadKey is returned for a key that identifies no record: an unknown kind, an
// id with an empty segment, or a key too long for a NATS subject.
var ErrBadKey = errors.New("not a catalog key")

// maxKey is the maximum length of an encoded key in bytes. NATS limits protocol
// lines to 4,096 bytes; ids and tenants of 256 characters need at most 2,800.
const maxKey = 3072

// aliases is the first token of the key of an alias. It is no kind, so that projections ignore aliases.
const aliases = "alias"

// Key identifies a record, or an alias of one.
type Key struct {
	Kind   string // one of schemas.Kinds
	Tenant string // empty: the global collection
	ID     string // dotted, without empty segments
	Alias  string // name of the alias; empty: the record
}

// String returns the key as encoded in the bucket, <kind>.<tenant>.<id> of a record, and
// alias.<kind>.<tenant>.<name>.<id> of an alias. It does not validate the key.
func (k Key) String() string {
	tenant := schemas.GlobalTenant
	if k.Tenant != "" {
		tenant = bucket.EncodeToken(k.Tenant)
	}
	segments := strings.Split(k.ID, ".")
	for i, s := range segments {
		segments[i] = bucket.EncodeToken(s)
	}
	id := strings.Join(segments, ".")
	if k.Alias != "" {
		return strings.Join([]string{aliases, k.Kind, tenant, k.Alias, id}, ".")
	}
	return k.Kind + "." + tenant + "." + id
}

// ParseKey is the inverse of Key.String for the key of a record. It returns ErrBadKey for any string that
// is not the encoding of such a key.
func ParseKey(s string) (Key, error) {
	key, err := parseKey(s)
	if err == nil && key.Alias != "" {
		return Key{}, fmt.Errorf("%w of a record: %q", ErrBadKey, s)
	}
	return key, err
}

// parseKey is ParseKey for the keys of records and aliases.
func parseKey(s string) (Key, error) {
	key := Key{}
	kind, rest, _ := strings.Cut(s, ".")
	if kind == aliases {
		kind, rest, _ = strings.Cut(rest, ".")
	}
	tenant, id, _ := strings.Cut(rest, ".")
	if strings.HasPrefix(s, aliases+".") {
		key.Alias, id, _ = strings.Cut(id, ".")
	}
	key.Kind = kind
	if tenant != schemas.GlobalTenant {
		key.Tenant = bucket.DecodeToken(tenant)
	}
	segments := strings.Split(id, ".")
	for i, t := range segments {
		segments[i] = bucket.DecodeToken(t)
	}
	key.ID = strings.Join(segments, ".")
	// Two encodings of one key would be two records with one id.
	if encoded, err := key.encode(); err != nil || encoded != s {
		return Key{}, fmt.Errorf("%w: %q", ErrBadKey, s)
	}
	return key, nil
}

// encode returns the encoding of a valid key, or ErrBadKey.
func (k Key) encode() (string, error) {
	if !schemas.KnownKind(k.Kind) {
		return "", fmt.Errorf("%w: unknown kind %q", ErrBadKey, k.Kind)
	}
	if k.Tenant == schemas.GlobalTenant {
		return "", fmt.Errorf("%w: the global tenant is the empty one", ErrBadKey)
	}
	if k.Alias != "" && !schemas.ValidAlias(k.Alias) {
		return "", fmt.Errorf("%w: alias %q", ErrBadKey, k.Alias)
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
