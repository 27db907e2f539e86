// Package backup writes what Cairn knows for good to a file, and brings it back
// to a cluster that knows nothing: the catalog of records, what its index has
// set aside, and the API keys. Tags, analyses and cached vectors are left out:
// they end by themselves, or are made anew.
//
// The file is gzip, and inside a JSON value a line: a Header, an entry for each
// value of a bucket in the order of their revisions, and an end with counts. So
// "zcat FILE | jq" reads it. The end is a gzip member of its own, which holds the
// SHA-256 of all bytes before it.
package backup

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus"
	"cairn/bus/bucket"
)

// Version is the format that is written, and the newest that is read.
const Version = 1

// buckets are what is kept, in the order of the file: what is set aside speaks
// of revisions of the catalog.
var buckets = []string{bucket.Catalog, bucket.Quarantine, bucket.Keys}

// What a file or a cluster is refused for.
var (
	ErrForeign  = errors.New("not a backup of Cairn")
	ErrLater    = errors.New("made by a later Cairn")
	ErrDamaged  = errors.New("damaged")
	ErrNotEmpty = errors.New("holds something already")
	ErrNothing  = errors.New("no catalog of Cairn")
)

// Header begins a backup.
type Header struct {
	Version int       `json:"cairn_backup"`
	Created time.Time `json:"created"`
	Cairn   string    `json:"cairn"` // version that made it
	Buckets []Bucket  `json:"buckets"`
}

// Bucket is a bucket, with the settings of its stream.
type Bucket struct {
	Name   string         `json:"name"`
	Config jsontext.Value `json:"config"` // as NATS has it
}

// Summary says what a backup holds.
type Summary struct {
	Header
	End
}

// End ends a backup.
type End struct {
	Entries  map[string]int `json:"entries"`  // by bucket, removed ones included
	Revision uint64         `json:"revision"` // of the catalog, up to which it is whole
	SHA256   string         `json:"sha256"`   // of all bytes before the last member
}

// entry is a value of a bucket, or that it was removed.
type entry struct {
	Bucket   string         `json:"bucket"`
	Key      string         `json:"key"`
	Revision uint64         `json:"revision"`
	Removed  bool           `json:"removed,omitzero"`
	Value    jsontext.Value `json:"value,omitzero"`  // byte for byte
	Base64   []byte         `json:"base64,omitzero"` // what is no JSON on one line
}

func (e entry) data() []byte {
	if e.Value != nil {
		return e.Value
	}
	return e.Base64
}

func stream(name string) string { return bucket.StreamPrefix + name }

// jetStream returns the JetStream of the account that holds the bucket.
func jetStream(name string, conn, keys *bus.Conn) jetstream.JetStream {
	if name == bucket.Keys {
		return keys.JetStream()
	}
	return conn.JetStream()
}

func subject(name, key string) string { return bucket.SubjectPrefix + name + "." + key }

func damaged(format string, args ...any) error {
	return fmt.Errorf("the backup is %w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}
