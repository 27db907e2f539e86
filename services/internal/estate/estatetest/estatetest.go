// Package estatetest reads the estates of the evaluation data for tests.
package estatetest

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// Folder returns the folder of the evaluation estates in the folder CAIRN_EVAL. It skips
// the test if the variable is not set.
func Folder(t testing.TB) string {
	t.Helper()
	folder := os.Getenv("CAIRN_EVAL")
	if folder == "" {
		t.Skip("CAIRN_EVAL does not name a folder of evaluation data")
	}
	return filepath.Join(folder, "estates")
}

// Read returns the text of an estate, which is stored as name.json or
// name.json.gz in [Folder].
func Read(t testing.TB, name string) []byte {
	t.Helper()
	path := filepath.Join(Folder(t), name+".json")
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
