package markdown_test

import (
	"testing"

	"cairn/services/internal/markdown"
)

func TestNumber(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{
		0: "0", 7: "7", -1200.5: "-1200.5", 2.0 / 3: "0.667", 0.00025: "0.00025", -0.000051234: "-0.0000512",
		1e21: "1000000000000000000000",
	} {
		if got := markdown.Number(v); got != want {
			t.Errorf("%v: got %q, want %q", v, got, want)
		}
	}
}
