package catalog

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/schemas"
)

// Version is a revision of a record with a version or an alias.
type Version struct {
	Token  schemas.ConsistencyToken // of the revision
	Record []byte                   // normalized by schemas.NormalizeRecord, must not be modified
	Stored time.Time                // when the revision was written; for an alias, when the alias was written
}

// Alias describes the alias of the key, which names v.
func (v Version) Alias(key Key) schemas.Alias {
	a := schemas.Alias{Name: key.Alias, Revision: v.Token.String()}
	if !v.Stored.IsZero() {
		a.StoredAt = v.Stored.UTC().Format(time.RFC3339Nano)
	}
	if fields, err := schemas.DecodeStored[schemas.Metadata](key.Kind, v.Record); err == nil {
		a.Version = fields.Version
	}
	return a
}

// storedAlias is the message of an alias: a copy of the revision, which is retained however many revisions follow.
type storedAlias struct {
	Revision string         `json:"revision"` // not in a header, which backups do not have
	Record   jsontext.Value `json:"record"`
}

// EncodeAlias returns the message of an alias of the revision.
func EncodeAlias(v Version) ([]byte, error) {
	return json.Marshal(storedAlias{v.Token.String(), v.Record})
}

func aliasOf(key Key, msg *jetstream.RawStreamMsg) (Version, error) {
	var stored storedAlias
	err := json.Unmarshal(msg.Data, &stored)
	v := Version{Record: schemas.NormalizeRecord(key.Kind, stored.Record), Stored: msg.Time}
	if err == nil {
		v.Token, err = schemas.ParseConsistencyToken(stored.Revision)
	}
	if err != nil {
		return v, fmt.Errorf("decode alias %s: %w", key, err)
	}
	return v, nil
}
