package static

import (
	"bufio"
	"compress/gzip"
	"os"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

// TestEncode compares with the tokens of the Python package tokenizers for 10,005 texts of
// many scripts, of distil/tokens.py.
func TestEncode(t *testing.T) {
	t.Parallel()
	vocabulary, err := os.ReadFile("minilm/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWordPiece(vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open("testdata/tokens.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	texts := 0
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var want struct {
			Text   string  `json:"text"`
			Tokens []int32 `json:"tokens"`
		}
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		texts++
		if got := w.encode(want.Text); !cmp.Equal(got, want.Tokens) {
			t.Errorf("%q: got %d, want %d", want.Text, got, want.Tokens)
		}
	}
	if lines.Err() != nil || texts < 10_000 {
		t.Errorf("%d texts: %v", texts, lines.Err())
	}
}
