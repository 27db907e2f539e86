package index

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"cairn/services/internal/embed"
)

// global is the tenant of documents that have none: a field without a value
// cannot be asked for.
const global = "_global"

// stored is a document as Elasticsearch has it, without its vectors.
type stored struct {
	Tenant   string `json:"tenant"`
	ID       string `json:"id"`
	Revision uint64 `json:"revision"`
	Status   string `json:"status,omitempty"`
	Domain   string `json:"domain,omitempty"`
	Class    string `json:"class,omitempty"`
	Provider string `json:"provider,omitempty"`
	Title    string `json:"title,omitempty"`
	Body     string `json:"body,omitempty"`
}

// operation returns what is to be sent for a change.
//
// A removed document is written, too, without a status, so that nothing finds
// it. Elasticsearch forgets the version of a document that it deletes, after a
// minute by default and at a restart in any case; an older revision that
// arrives later would bring the document back. The empty ones are small, and
// gone with the next generation.
func (g *generation) operation(c Change, vectors [][]float32) (operation, error) {
	if !slices.Contains(kinds, c.Kind) {
		return operation{}, fmt.Errorf("kind %q: want %s", c.Kind, strings.Join(kinds, ", "))
	}
	lines, err := encode(
		object{"index": object{
			"_index": g.entrance(c.Kind), "_id": documentID(c.Tenant, c.ID),
			"version": c.Revision, "version_type": "external_gte",
		}},
		newStored(c),
	)
	if err == nil && c.found() {
		lines, err = withVectors(lines, vectors)
	}
	return operation{c, lines}, err
}

func newStored(c Change) stored {
	s := stored{Tenant: cmp.Or(c.Tenant, global), ID: c.ID, Revision: c.Revision}
	if c.Removed {
		return s
	}
	s.Status, s.Domain, s.Class, s.Provider = cmp.Or(c.Status, active), c.Domain, c.Class, c.Provider
	if !c.found() {
		return s
	}
	s.Title = embed.Plain(c.Title)
	s.Body = embed.Plain(c.body())
	return s
}

// withVectors adds the vectors to the document that ends the lines.
func withVectors(lines []byte, vectors [][]float32) ([]byte, error) {
	lines = append(bytes.TrimSuffix(lines, []byte("}\n")), `,"vectors":[`...)
	for _, v := range vectors {
		length := math.Sqrt(dot(v, v))
		if length == 0 {
			continue // a text without content is near to nothing
		}
		if math.IsInf(length, 0) || math.IsNaN(length) {
			return nil, errors.New("a vector is not finite")
		}
		lines = appendVector(append(lines, `{"vector":[`...), v, 1/length)
		lines = append(lines, "]},"...)
	}
	return append(bytes.TrimSuffix(lines, []byte(",")), "]}\n"...), nil
}

// appendVector adds the numbers of v times scale, of which none is above 1.
// Vectors are most of a document: whole numbers, in steps of what a float32
// can tell from 1, are written in a fifth of the time.
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

// documentID tells the documents of all tenants apart. Ids of Elasticsearch
// end at 512 bytes, ours may be longer.
func documentID(tenant, id string) string {
	sum := sha256.Sum256([]byte(tenant + "\x00" + id))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
