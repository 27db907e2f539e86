package backup

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/bus/bucket"
)

type writer struct {
	target io.Writer
	sum    hash.Hash
	zip    *gzip.Writer
	end    End
}

func newWriter(target io.Writer, h Header) (*writer, error) {
	w := &writer{target: target, sum: sha256.New(), end: End{Entries: map[string]int{}}}
	w.zip = gzip.NewWriter(io.MultiWriter(target, w.sum))
	return w, w.line(h)
}

func (w *writer) line(v any) error {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = w.zip.Write(append(text, '\n'))
	return err
}

func (w *writer) add(e entry, data []byte) error {
	w.end.Entries[e.Bucket]++
	if e.Bucket == bucket.Catalog {
		w.end.Revision = e.Revision
	}
	if e.Removed {
		return w.line(e)
	}
	if e.Value = data; bytes.ContainsRune(data, '\n') || !e.Value.IsValid(jsontext.AllowDuplicateNames(true)) {
		e.Value, e.Base64 = nil, data
		return w.line(e)
	}
	// Marshalling would reformat the value.
	e.Value = nil
	text, err := json.Marshal(e, json.Deterministic(true))
	if err != nil {
		return err
	}
	text = append(append(text[:len(text)-1], `,"value":`...), data...)
	_, err = w.zip.Write(append(text, "}\n"...))
	return err
}

// close writes the End. It does not close the underlying writer.
func (w *writer) close() error {
	if err := w.zip.Close(); err != nil {
		return err
	}
	w.end.SHA256 = hex.EncodeToString(w.sum.Sum(nil))
	_, err := w.target.Write(w.end.member())
	return err
}

func decode(text []byte, v any) error {
	return json.Unmarshal(text, v, jsontext.AllowDuplicateNames(true))
}
