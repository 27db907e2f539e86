package index

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"cairn/services/internal/embed"
)

// global is the tenant of documents that have none: a field without a value
// cannot be asked for.
const global = "_global"

// stored is a document as Elasticsearch has it.
type stored struct {
	Tenant   string   `json:"tenant"`
	ID       string   `json:"id"`
	Revision uint64   `json:"revision"`
	Status   string   `json:"status,omitempty"`
	Domain   string   `json:"domain,omitempty"`
	Class    string   `json:"class,omitempty"`
	Provider string   `json:"provider,omitempty"`
	Title    string   `json:"title,omitempty"`
	Body     string   `json:"body,omitempty"`
	Vectors  []vector `json:"vectors,omitempty"`
}

type vector struct {
	Vector []float32 `json:"vector"`
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
		newStored(c, vectors),
	)
	return operation{c, lines}, err
}

func newStored(c Change, vectors [][]float32) stored {
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
	for _, v := range vectors {
		if dot(v, v) > 0 { // a text without content is near to nothing
			s.Vectors = append(s.Vectors, vector{v})
		}
	}
	return s
}

// documentID tells the documents of all tenants apart. Ids of Elasticsearch
// end at 512 bytes, ours may be longer.
func documentID(tenant, id string) string {
	sum := sha256.Sum256([]byte(tenant + "\x00" + id))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
