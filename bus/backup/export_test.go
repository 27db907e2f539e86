package backup

import (
	"bytes"
	"compress/gzip"
)

// Sealed is a file of the lines with the end that belongs to them.
func Sealed(lines []byte) []byte {
	var file bytes.Buffer
	zip := gzip.NewWriter(&file)
	_, _ = zip.Write(lines) // a buffer takes all
	_ = zip.Close()
	s, _ := read(bytes.NewReader(file.Bytes()), func(entry) error { return nil }) // that the end is missing is known
	end, _ := s.member()                                                          // texts of our own
	return append(file.Bytes(), end...)
}
