// Package backup saves the durable state of Cairn to a file and restores it to an empty cluster: the
// catalog, the quarantine of its index, the API keys, the tags that have not expired, and the audit log. Analyses
// and cached vectors are not included: they expire, or are recomputed.
//
// The file is gzip-compressed NDJSON: a Header, one entry for each value of a bucket
// in the order of revisions, and an End with counts. "zcat FILE | jq" prints it. The
// End is a separate gzip member that contains the SHA-256 of all preceding bytes.
package backup

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus"
	"cairn/bus/bucket"
)

// Version is the format that Save writes, and the highest that Check accepts.
const Version = 2

// buckets lists the saved buckets in the order of the file. The quarantine follows
// the catalog because it refers to revisions of the catalog.
var buckets = []string{bucket.Catalog, bucket.Quarantine, bucket.Keys, bucket.Tags, bucket.Audit}

// Reasons to reject a file or a cluster.
var (
	ErrForeign  = errors.New("not a backup of Cairn")
	ErrLater    = errors.New("written by a newer version")
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

// member returns e as a gzip member with a single stored block (RFC 1951, 3.2.4;
// RFC 1952), so that equal values are encoded to equal bytes.
func (e End) member() []byte {
	text, _ := json.Marshal(e, json.Deterministic(true)) // strings and numbers can be encoded
	text = append(text, '\n')
	b := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1}
	b = binary.LittleEndian.AppendUint16(b, uint16(len(text)))
	b = binary.LittleEndian.AppendUint16(b, ^uint16(len(text)))
	b = append(b, text...)
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(text))
	return binary.LittleEndian.AppendUint32(b, uint32(len(text)))
}

// check returns an error unless rest is exactly the encoding of e.
func (e End) check(rest io.Reader) error {
	got, err := io.ReadAll(io.LimitReader(rest, maxEnd))
	want := e.member()
	switch {
	case err != nil:
		return err
	case len(got) < len(want):
		return damaged("the file is truncated")
	case !bytes.Equal(got, want):
		return damaged("checksum mismatch")
	}
	return nil
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

// fillable reports whether a restore adds to the bucket: existing tags and entries of the audit log stay.
func fillable(name string) bool { return name == bucket.Tags || name == bucket.Audit }

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
