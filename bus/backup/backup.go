package backup

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus"
	"cairn/bus/bucket"
)

// Version is the format that Save writes, and the highest that Check accepts.
const Version = 1

// buckets lists the saved buckets in the order of the file. The quarantine follows
// the catalog because it refers to revisions of the catalog.
var buckets = []string{bucket.Catalog, bucket.Quarantine, bucket.Keys, bucket.Tags}

// Reasons to reject a file or a cluster.
var (
	ErrForeign  = errors.New("not a backup of Cairn")
	ErrLater    = errors.New("made by a later version")
	ErrDamaged  = errors.New("damaged")
	ErrNotEmpty = errors.New("is not empty")
	ErrNothing  = errors.New("no catalog of Cairn")
)

// Header is the first line of a backup.
type Header struct {
	Version int       `json:"cairn_backup"`
	Created time.Time `json:"created"`
	Cairn   string    `json:"cairn"` // version that wrote the backup
	Buckets []Bucket  `json:"buckets"`
}

// Bucket is the name of a bucket and the configuration of its stream.
type Bucket struct {
	Name   string         `json:"name"`
	Config jsontext.Value `json:"config"` // jetstream.StreamConfig
}

// Summary describes the contents of a backup.
type Summary struct {
	Header
	End
}

// End is the last line of a backup.
type End struct {
	Entries  map[string]int `json:"entries"`  // by bucket, including deleted ones
	Revision uint64         `json:"revision"` // last revision of the catalog in the backup
	SHA256   string         `json:"sha256"`   // of all bytes before the last member
}

// entry is a value of a bucket, or the deletion of one.
type entry struct {
	Bucket   string         `json:"bucket"`
	Key      string         `json:"key"`
	Revision uint64         `json:"revision"`
	Removed  bool           `json:"removed,omitzero"`
	Expires  time.Time      `json:"expires,omitzero"` // of a tag
	Value    jsontext.Value `json:"value,omitzero"`   // byte for byte
	Base64   []byte         `json:"base64,omitzero"`  // instead of Value: not JSON, or not on one line
}

func (e entry) data() []byte {
	if e.Value != nil {
		return e.Value
	}
	return e.Base64
}

func stream(name string) string { return bucket.StreamPrefix + name }

// jetStream returns the JetStream context of the account that holds the bucket.
func jetStream(name string, conn, keys *bus.Conn) jetstream.JetStream {
	if name == bucket.Keys {
		return keys.JetStream()
	}
	return conn.JetStream()
}

func subject(name, key string) string { return bucket.SubjectPrefix + name + "." + key }

// internal reports whether the key belongs to a message that package bucket writes for its
// own use, and not to a value.
func internal(key string) bool { return strings.HasPrefix(key, "=") }

func damaged(format string, args ...any) error {
	return fmt.Errorf("the backup is %w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}
