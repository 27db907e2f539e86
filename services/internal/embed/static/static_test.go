package static_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"cairn/services/internal/embed/static"
)

func TestBuiltIn(t *testing.T) {
	t.Parallel()
	table, err := static.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Digest()) != 64 || table.Dimensions() != 256 {
		t.Errorf("digest %q, %d dimensions", table.Digest(), table.Dimensions())
	}
	query := table.Embed("VMs that are oversized")
	near, far := table.Embed("Find virtual machines with more CPU than they need"), table.Embed("Bake a chocolate cake")
	if dot(query, near) < dot(query, far)+0.2 {
		t.Errorf("cosines: %.2f to the same matter, %.2f to another", dot(query, near), dot(query, far))
	}
	if got := dot(query, query); math.Abs(got-1) > 1e-5 {
		t.Errorf("a vector has a squared length of %v, want 1", got)
	}
	if got := table.Embed(" \u200b"); dot(got, got) != 0 {
		t.Error("a text without content: got a vector, want zeros")
	}
}

// TestNotice checks that NOTICE has the hashes of the table.
func TestNotice(t *testing.T) {
	t.Parallel()
	notice, err := os.ReadFile("NOTICE")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"minilm/model.safetensors", "minilm/tokenizer.json"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("%x  %s\n", sha256.Sum256(data), name); !strings.Contains(string(notice), want) {
			t.Errorf("NOTICE lacks %q", want)
		}
	}
}

// tokenizer has the tokens a, b, ##c and [UNK].
const tokenizer = `{"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"lowercase":true},
	"pre_tokenizer":{"type":"BertPreTokenizer"},
	"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,
	"vocab":{"[UNK]":0,"a":1,"b":2,"##c":3}}}`

// tensor is an entry of a file.
type tensor struct {
	Kind    string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
	values  any
}

// model returns a file of tensors.
func model(t *testing.T, tensors map[string]tensor) []byte {
	t.Helper()
	var data bytes.Buffer
	for name, e := range tensors {
		e.Offsets[0] = data.Len()
		if err := binary.Write(&data, binary.LittleEndian, e.values); err != nil {
			t.Fatal(err)
		}
		e.Offsets[1] = data.Len()
		tensors[name] = e
	}
	header, err := json.Marshal(tensors)
	if err != nil {
		t.Fatal(err)
	}
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), data.Bytes()...)
}

func directory(t *testing.T, tokenizer string, model []byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range map[string][]byte{"tokenizer.json": []byte(tokenizer), "model.safetensors": model} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func rows(kind string, shape []int, values any) tensor {
	return tensor{Kind: kind, Shape: shape, values: values}
}

func TestTableFormats(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		tensors map[string]tensor
		want    []float32 // of "a", before normalization in proportion 3 to 4
	}{
		{"32-bit floats", map[string]tensor{
			"embeddings": rows("F32", []int{4, 2}, []float32{9, 9, 3, 4, 0, 1, 1, 0})}, []float32{0.6, 0.8}},
		{"16-bit floats", map[string]tensor{
			"embeddings": rows("F16", []int{4, 2}, []uint16{0, 0, 0x4200, 0x4400, 0, 0x3c00, 0x3c00, 0})}, []float32{0.6, 0.8}},
		{"8-bit integers", map[string]tensor{
			"embeddings": rows("I8", []int{4, 2}, []int8{9, 9, -3, 4, 0, 1, 1, 0})}, []float32{-0.6, 0.8}},
		{"weights", map[string]tensor{
			"embeddings": rows("I8", []int{4, 2}, []int8{9, 9, 3, 4, 0, 1, 1, 0}),
			"weights":    rows("F64", []int{4}, []float64{1, -2, 1, 1})}, []float32{-0.6, -0.8}},
		{"a mapping", map[string]tensor{
			"embeddings": rows("I8", []int{2, 2}, []int8{3, 4, 1, 0}),
			"mapping":    rows("I64", []int{4}, []int64{1, 0, 1, 1})}, []float32{0.6, 0.8}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			table, err := static.Open(directory(t, tokenizer, model(t, row.tensors)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, table.Embed("A [unk] zzz"), cmpopts.EquateApprox(0, 1e-6)); diff != "" {
				t.Errorf("vector (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSumOfTokens(t *testing.T) {
	t.Parallel()
	table, err := static.Open(directory(t, tokenizer, model(t, map[string]tensor{
		"embeddings": rows("F32", []int{4, 3}, []float32{9, 9, 9, 2, 0, 0, 0, 1, 0, 0, 0, 2}),
	})))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float32{2. / 3, 1. / 3, 2. / 3}, table.Embed("b, ac"),
		cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		t.Errorf("vector (-want +got):\n%s", diff)
	}
}

func TestInvalidModel(t *testing.T) {
	t.Parallel()
	good := model(t, map[string]tensor{"embeddings": rows("F32", []int{4, 2}, make([]float32, 8))})
	with := func(header string, data int) []byte {
		return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), make([]byte, data)...)
	}
	embeddings := func(shape string, begin, end int) string {
		return fmt.Sprintf(`{"embeddings":{"dtype":"F32","shape":%s,"data_offsets":[%d,%d]}}`, shape, begin, end)
	}
	nan := float32(math.NaN())
	for _, row := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "no header"},
		{"a length without a header", good[:8], "a header of"},
		{"a truncated header", good[:20], "a header of"},
		{"truncated data", good[:len(good)-1], "offsets"},
		{"a huge header", bytes.Repeat([]byte{0xff}, 64), "a header of 18446744073709551615 bytes"},
		{"invalid JSON header", with("{]", 0), "header"},
		{"a tensor that is not an object", with(`{"embeddings":7}`, 0), "embeddings"},
		{"another tensor", with(`{"weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4), "embeddings: missing"},
		{"negative offsets", with(embeddings("[4,2]", -32, 0), 32), "offsets"},
		{"reversed offsets", with(embeddings("[4,2]", 32, 0), 32), "offsets"},
		{"another size", with(embeddings("[4,3]", 0, 32), 32), "32 bytes, which does not match shape [4 3]"},
		{"part of a number", with(embeddings("[4,2]", 0, 33), 33), "33 bytes, which does not match shape"},
		{"a negative dimension", with(embeddings("[-4,-2]", 0, 32), 32), "shape"},
		{"dimensions whose product overflows", with(embeddings("[4294967296,4294967296,4]", 0, 32), 32), "shape"},
		{"one dimension", with(embeddings("[8]", 0, 32), 32), "1 dimensions, expected 2"},
		{"text instead of numbers", with(strings.Replace(embeddings("[4,2]", 0, 32), "F32", "STR", 1), 32), "STR"},
		{"too few rows", model(t, map[string]tensor{"embeddings": rows("I8", []int{3, 2}, make([]int8, 6))}),
			"3 rows for 4 tokens"},
		{"not a number", model(t, map[string]tensor{"embeddings": rows("F32", []int{4, 1}, []float32{0, 1, nan, 0})}),
			"NaN in row 2"},
		{"an infinite number", model(t, map[string]tensor{"embeddings": rows("F16", []int{4, 1}, []uint16{0, 0, 0, 0x7c00})}),
			"+Inf in row 3"},
		{"a weight that is not a number", model(t, map[string]tensor{
			"embeddings": rows("I8", []int{4, 1}, make([]int8, 4)), "weights": rows("F32", []int{4}, []float32{0, nan, 0, 0})}),
			"weights: NaN at 1"},
		{"too few weights", model(t, map[string]tensor{
			"embeddings": rows("I8", []int{4, 1}, make([]int8, 4)), "weights": rows("F32", []int{3}, make([]float32, 3))}),
			"3 weights for 4 tokens"},
		{"weights of integers", model(t, map[string]tensor{
			"embeddings": rows("I8", []int{4, 1}, make([]int8, 4)), "weights": rows("I8", []int{4}, make([]int8, 4))}),
			"expected F16, F32 or F64"},
		{"a mapping to a missing row", model(t, map[string]tensor{
			"embeddings": rows("I8", []int{4, 1}, make([]int8, 4)), "mapping": rows("I64", []int{4}, []int64{0, 1, 2, 4})}),
			"token 3: row 4 out of range, 4 rows"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := static.Open(directory(t, tokenizer, row.data))
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want an error with %q", err, row.want)
			}
		})
	}
}

func TestInvalidTokenizer(t *testing.T) {
	t.Parallel()
	data := model(t, map[string]tensor{"embeddings": rows("I8", []int{4, 1}, make([]int8, 4))})
	for _, row := range []struct{ name, old, with, want string }{
		{"no JSON", "{", "", "tokenizer.json"},
		{"another model", `"WordPiece"`, `"BPE"`, `"BPE" is not supported, expected WordPiece`},
		{"another normalizer", `"BertNormalizer"`, `"Precompiled"`, `"Precompiled" is not supported`},
		{"another pre-tokenizer", `"BertPreTokenizer"`, `"Metaspace"`, `"Metaspace" is not supported`},
		{"no prefix", `"##"`, `""`, "expected vocab"},
		{"no longest word", `:100`, `:0`, "expected vocab"},
		{"a negative number", `:3`, `:-3`, "has the number -3"},
		{"a number without a row", `:3`, `:4`, "4 rows for 5 tokens"},
		{"a number that overflows", `:3`, `:99999999999`, "tokenizer.json"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := static.Open(directory(t, strings.Replace(tokenizer, row.old, row.with, 1), data))
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want an error with %q", err, row.want)
			}
		})
	}
	if _, err := static.Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "tokenizer.json") {
		t.Errorf("an empty directory: got %v", err)
	}
}

// FuzzOpen opens arbitrary models: the result is an error or finite vectors.
func FuzzOpen(f *testing.F) {
	f.Add([]byte("\x40\x00\x00\x00\x00\x00\x00\x00" + `{"embeddings":{"dtype":"I8","shape":[4,1],"data_offsets":[0,4]}}` +
		"abcd"))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := static.Open(directory(t, tokenizer, data))
		if err != nil {
			return
		}
		for _, x := range table.Embed("a b ac") {
			if math.IsNaN(float64(x)) {
				t.Errorf("got %v", x)
			}
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		if _, err := static.Open("minilm"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEmbed(b *testing.B) {
	table, err := static.BuiltIn()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		table.Embed("Find virtual machines whose processors and memory are larger than their load needs")
	}
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
