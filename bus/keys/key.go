// Package keys keeps the API keys by which callers of an edge are known: a KV
// bucket with what each may do and the hash of its secret, never the secret.
package keys

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"cairn/schemas"
)

// Key is what is kept of an API key.
type Key struct {
	ID      string       `json:"id"`
	Role    schemas.Role `json:"role"`
	Tenants []string     `json:"tenants,omitempty"` // none: all
	Note    string       `json:"note,omitzero"`     // for whom or what it is
	Created time.Time    `json:"created"`
	Expires time.Time    `json:"expires,omitzero"` // zero: never
	Revoked time.Time    `json:"revoked,omitzero"` // zero: not
	Hash    string       `json:"hash"`             // SHA-256 of the secret, in hex
}

// Identity is who comes with the key.
func (k *Key) Identity() *schemas.Identity {
	return &schemas.Identity{ID: k.ID, Role: k.Role, Tenants: k.Tenants}
}

// What is wrong with a key, as its state.
const (
	StateActive  = "active"
	StateExpired = "expired"
	StateRevoked = "revoked"
)

// State is how the key is at the time.
func (k *Key) State(at time.Time) string {
	switch {
	case !k.Revoked.IsZero():
		return StateRevoked
	case !k.Expires.IsZero() && !at.Before(k.Expires):
		return StateExpired
	default:
		return StateActive
	}
}

// prefix begins every key, so that scanners of leaked secrets know one.
const prefix = "cairn_"

// IsKey reports whether text looks like an API key at all.
func IsKey(text string) bool { return strings.HasPrefix(text, prefix) }

// mint makes the secret of k: the key as its caller carries it. It has 130 random
// bits, so that a plain hash says nothing about it.
func (k *Key) mint() string {
	k.ID = strings.ToLower(rand.Text()[:12])
	secret := strings.ToLower(rand.Text())
	sum := sha256.Sum256([]byte(secret))
	k.Hash = hex.EncodeToString(sum[:])
	return prefix + k.ID + "_" + secret
}

// split is the id and the secret of a key.
func split(text string) (id, secret string, ok bool) {
	rest, ours := strings.CutPrefix(text, prefix)
	id, secret, both := strings.Cut(rest, "_")
	return id, secret, ours && both && id != "" && secret != ""
}
