package estate_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestRandomEstates runs the checks of FuzzEstate on valid JSON with few distinct names and
// values, so that all their combinations occur.
func TestRandomEstates(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1000) {
		w := writer{Rand: rand.New(rand.NewPCG(seed, 0))}
		w.value(0)
		if checkText(t, []byte(w.String())); t.Failed() {
			t.Fatalf("seed %d: %s", seed, w.String())
		}
	}
}

// writer writes random JSON.
type writer struct {
	*rand.Rand
	strings.Builder
}

func (w *writer) pick(texts ...string) { w.WriteString(texts[w.IntN(len(texts))]) }

func (w *writer) space() { w.pick("", "", "", " ", "\n\t ") }

func (w *writer) value(depth int) {
	w.space()
	switch n := w.IntN(10); {
	case depth == 0 && n < 7, depth < 5 && n < 3:
		w.object(depth)
	case depth == 0, depth < 5 && n < 5:
		w.array(depth)
	case n < 7:
		w.pick(`"x"`, `"y"`, `"null"`, `"1"`, `""`, `"a\u00e9\n"`, `"\ud800"`, `"long text, longer than a word"`, "\"\xff\"")
	case n < 9:
		w.pick("1", "1.0", "10e-1", "-0", "0.5", "5E-1", "120", "1.2e2", "-7.25")
	default:
		w.pick("true", "false", "null", "null")
	}
	w.space()
}

func (w *writer) object(depth int) {
	w.WriteByte('{')
	for i := range w.IntN(6) {
		if i > 0 {
			w.WriteByte(',')
		}
		w.space()
		w.pick(`"a"`, `"b"`, `"c"`, `"a.b"`, `"b.c"`, `"a.b.c"`, `"value"`, `"\u0061"`, `""`, fmt.Sprintf(`"n%d"`, i))
		w.space()
		w.WriteByte(':')
		w.value(depth + 1)
	}
	w.WriteByte('}')
}

func (w *writer) array(depth int) {
	w.WriteByte('[')
	for i := range w.IntN(8) {
		if i > 0 {
			w.WriteByte(',')
		}
		if w.IntN(3) > 0 && depth < 5 {
			w.object(depth + 1)
			continue
		}
		w.value(depth + 1)
	}
	w.WriteByte(']')
}
