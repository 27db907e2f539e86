package index

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"math"
	"slices"
	"strconv"

	"cairn/schemas"
	"cairn/services/internal/embed"
)

// global is the tenant value of global documents; a missing field cannot be
// matched by a term filter.
const global = "_global"

// stored is a document's source in Elasticsearch, without its vectors.
type stored struct {
	Tenant       string   `json:"tenant"`
	ID           string   `json:"id"`
	Revision     uint64   `json:"revision"`
	Status       string   `json:"status,omitempty"`
	Domain       string   `json:"domain,omitempty"`
	Class        string   `json:"class,omitempty"`
	Provider     string   `json:"provider,omitempty"`
	Labels       []string `json:"labels,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"`
	Name         string   `json:"name,omitempty"`
	Version      string   `json:"version,omitempty"`
	Public       bool     `json:"public,omitempty"`
	Title        string   `json:"title,omitempty"`
	Body         string   `json:"body,omitempty"`
	Instructions string   `json:"instructions,omitempty"`
}

func newStored(c Change) stored {
	s := stored{Tenant: cmp.Or(c.Tenant, global), ID: c.ID, Revision: c.Revision}
	if c.Removed {
		return s
	}
	s.Status, s.Domain, s.Class, s.Provider = cmp.Or(c.Status, schemas.StatusActive), c.Domain, c.Class, c.Provider
	if !c.searchable() {
		return s
	}
	s.Labels, s.Capabilities = c.Labels, c.Capabilities
	s.Name, s.Version, s.Public = folded(c.Name), c.Version, c.Public
	s.Title = embed.Plain(c.Title)
	s.Body = embed.Plain(c.body())
	s.Instructions = embed.Plain(c.Instructions)
	return s
}

// withVectors appends the vectors to the document at the end of lines.
func withVectors(lines []byte, vectors [][]float32) ([]byte, error) {
	lines = append(bytes.TrimSuffix(lines, []byte("}\n")), `,"vectors":[`...)
	for _, v := range vectors {
		length := math.Sqrt(dot(v, v))
		if length == 0 {
			continue // a text without content matches nothing
		}
		if math.IsInf(length, 0) || math.IsNaN(length) {
			return nil, errors.New("a vector is not finite")
		}
		lines = appendVector(append(lines, `{"vector":[`...), v, 1/length)
		lines = append(lines, "]},"...)
	}
	return append(bytes.TrimSuffix(lines, []byte(",")), "]}\n"...), nil
}

// appendVector appends v scaled to unit length. Components are at most 1, so they
// are written as integers times 1e-7, the precision of a float32 near 1, which is
// five times as fast as formatting floats.
func appendVector(lines []byte, v []float32, scale float64) []byte {
	lines = slices.Grow(lines, 12*len(v))
	for i, x := range v {
		if i > 0 {
			lines = append(lines, ',')
		}
		n := int64(math.Round(float64(x) * scale * 1e7))
		lines = strconv.AppendInt(lines, n, 10)
		if n != 0 {
			lines = append(lines, "e-7"...)
		}
	}
	return lines
}

// documentID returns an ID that is unique across tenants. Elasticsearch limits IDs
// to 512 bytes; Cairn's may be longer.
func documentID(tenant, id string) string {
	sum := sha256.Sum256([]byte(tenant + "\x00" + id))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
