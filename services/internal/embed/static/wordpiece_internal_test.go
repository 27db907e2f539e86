package static

import (
	"bufio"
	"os"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

// TestEncode compares with the tokens of the Python package tokenizers, of
// distil/tokens.py. CAIRN_TOKENS may name a larger file.
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
	path := os.Getenv("CAIRN_TOKENS")
	if path == "" {
		path = "testdata/tokens.jsonl"
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	texts := 0
	lines := bufio.NewScanner(file)
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
	if lines.Err() != nil || texts == 0 {
		t.Errorf("%d texts: %v", texts, lines.Err())
	}
}
