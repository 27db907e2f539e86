// Package keys stores the API keys of an edge's callers in a KV bucket: role, tenants
// and the hash of the secret, never the secret.
//
// An edge verifies keys with a [Ring], a cached copy of the bucket that is read every 400 ms: while
// NATS is available, a revoked key is refused within a second. Otherwise the ring keeps its keys.
package keys

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"cairn/schemas"
)

// Key is the stored record of an API key.
type Key struct {
	ID      string       `json:"id"`
	Role    schemas.Role `json:"role"`
	Tenants []string     `json:"tenants,omitempty"` // none: all
	Note    string       `json:"note,omitzero"`     // free text, such as the owner
	Created time.Time    `json:"created"`
	Expires time.Time    `json:"expires,omitzero"` // zero: never
	Revoked time.Time    `json:"revoked,omitzero"` // zero: not revoked
	Hash    string       `json:"hash"`             // SHA-256 of the secret, in hex
}

// Identity returns the identity that the key authenticates.
func (k *Key) Identity() *schemas.Identity {
	return &schemas.Identity{ID: k.ID, Type: schemas.ActorKey, Role: k.Role, Tenants: k.Tenants}
}

// idPattern and hashPattern match the output of generate. An id is one token of a subject, and
// contains no underscore because an underscore separates it from the secret in the text of a key.
var (
	idPattern   = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)
	hashPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// validate returns an error if k is not a valid record of the key id.
func (k *Key) validate(id string) error {
	switch {
	case !idPattern.MatchString(id):
		return fmt.Errorf("subject token %q: expected 1 to 64 letters, digits or hyphens", id)
	case k.ID != id:
		return fmt.Errorf("id %q: expected %q, the last token of the subject", k.ID, id)
	case !hashPattern.MatchString(k.Hash):
		return errors.New("hash: expected 64 lower-case hexadecimal digits")
	}
	return k.Identity().Validate()
}

// States of a key.
const (
	StateActive  = "active"
	StateExpired = "expired"
	StateRevoked = "revoked"
)

// State returns the state of the key at the time.
func (k *Key) State(now time.Time) string {
	switch {
	case !k.Revoked.IsZero():
		return StateRevoked
	case !k.Expires.IsZero() && !now.Before(k.Expires):
		return StateExpired
	default:
		return StateActive
	}
}

const prefix = "cairn_" // of every key: secret scanners recognize keys by it

// IsKey reports whether text has the prefix of an API key.
func IsKey(text string) bool { return strings.HasPrefix(text, prefix) }

// generate sets id and hash of k and returns the text of the key. The secret has 130 random bits, so
// a plain hash suffices.
func (k *Key) generate() string {
	k.ID = strings.ToLower(rand.Text()[:12])
	secret := strings.ToLower(rand.Text())
	k.Hash = hash(secret)
	return prefix + k.ID + "_" + secret
}

func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// matches reports in constant time whether secret is the secret of k.
func (k *Key) matches(secret string) bool {
	return subtle.ConstantTimeCompare([]byte(hash(secret)), []byte(k.Hash)) == 1
}

// split returns the id and the secret in the text of a key.
func split(text string) (id, secret string, ok bool) {
	rest, ours := strings.CutPrefix(text, prefix)
	id, secret, both := strings.Cut(rest, "_")
	return id, secret, ours && both && id != "" && secret != ""
}
