// Package estatetest reads the estates of the evaluation data for tests.
package estatetest

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// Directory returns the directory of the evaluation estates in the directory CAIRN_EVAL. It skips
// the test if the variable is not set.
func Directory(t testing.TB) string {
	t.Helper()
	directory := os.Getenv("CAIRN_EVAL")
	if directory == "" {
		t.Skip("CAIRN_EVAL does not name a directory of evaluation data")
	}
	return filepath.Join(directory, "estates")
}

// Read returns the text of an estate, which is stored as name.json or
// name.json.gz in [Directory].
func Read(t testing.TB, name string) []byte {
	t.Helper()
	path := filepath.Join(Directory(t), name+".json")
	if text, err := os.ReadFile(path); err == nil {
		return text
	}
	file, err := os.Open(path + ".gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unzipped)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
