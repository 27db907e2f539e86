package backup

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"regexp"
	"slices"

	"cairn/bus/bucket"
)

const (
	maxLine     = 64 << 20 // longer than any entry: messages of NATS are limited to 8 MB
	maxHeader   = 1 << 20  // longer than any header
	maxEnd      = 64 << 10 // longer than any end
	maxKey      = 3 << 10  // longer than any key, and short enough for a protocol line of NATS
	maxRevision = 1 << 62  // leaves room for the revisions of later writes
)

// keys matches valid keys of a bucket (NATS, ADR-8).
var keys = regexp.MustCompile(`^[-/_=a-zA-Z0-9]+(\.[-/_=a-zA-Z0-9]+)*$`)

// read verifies a whole backup and calls each for every entry while it reads. The entries
// are verified only when it returns without an error.
func read(r io.Reader, each func(entry) error) (s Summary, err error) {
	input := &hashed{source: bufio.NewReaderSize(r, 64<<10), sum: sha256.New()}
	zip, err := gzip.NewReader(input)
	if err != nil {
		return s, fmt.Errorf("the file is %w", ErrForeign)
	}
	zip.Multistream(false)
	lines := bufio.NewScanner(zip)
	lines.Buffer(nil, maxLine)
	if s.Header, err = readHeader(lines); err != nil {
		return s, err
	}
	counted := End{Entries: map[string]int{}}
	for lines.Scan() {
		e, err := readEntry(lines.Bytes(), s.Header)
		if err != nil {
			return s, err
		}
		counted.Entries[e.Bucket]++
		if e.Bucket == bucket.Catalog {
			counted.Revision = e.Revision
		}
		if err := each(e); err != nil {
			return s, err
		}
	}
	if err := lines.Err(); err != nil {
		return s, damaged("%v", err)
	}
	counted.SHA256 = hex.EncodeToString(input.sum.Sum(nil))
	s.End = counted
	return s, counted.check(input.source)
}

func readHeader(lines *bufio.Scanner) (h Header, err error) {
	if !lines.Scan() || len(lines.Bytes()) > maxHeader || decode(lines.Bytes(), &h) != nil || h.Version < 1 {
		return h, fmt.Errorf("the file is %w, or its header is damaged", ErrForeign)
	}
	if h.Version > Version {
		return h, fmt.Errorf("the backup was %w, %s, in format %d; this version reads formats up to %d: restore it with version %[2]s or later",
			ErrLater, h.Cairn, h.Version, Version)
	}
	for _, b := range h.Buckets {
		if !slices.Contains(buckets, b.Name) {
			return h, damaged("unknown bucket %q", b.Name)
		}
	}
	return h, nil
}

func readEntry(line []byte, h Header) (e entry, err error) {
	if err := decode(line, &e); err != nil {
		return e, damaged("%v", err)
	}
	if !slices.ContainsFunc(h.Buckets, func(b Bucket) bool { return b.Name == e.Bucket }) || e.Revision < 1 ||
		e.Revision > maxRevision ||
		len(e.Key) > maxKey || !keys.MatchString(e.Key) {
		return e, damaged("invalid entry: bucket %.100q, key %.100q, revision %d", e.Bucket, e.Key, e.Revision)
	}
	e.Value = slices.Clone(e.Value) // the scanner reuses the line
	return e, nil
}

// hashed is a reader that hashes exactly the bytes that were read from it.
type hashed struct {
	source *bufio.Reader
	sum    hash.Hash
	byte   [1]byte // of ReadByte
}

func (h *hashed) Read(p []byte) (int, error) {
	n, err := h.source.Read(p)
	_, _ = h.sum.Write(p[:n]) // a hash returns no errors
	return n, err
}

// ReadByte implements io.ByteReader, so that gzip does not read past the end of a member.
func (h *hashed) ReadByte() (byte, error) {
	b, err := h.source.ReadByte()
	if err == nil {
		h.byte[0] = b
		_, _ = h.sum.Write(h.byte[:])
	}
	return b, err
}
