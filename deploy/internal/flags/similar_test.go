package flags

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSimilar(t *testing.T) {
	t.Parallel()
	words := []string{"url", "list", "skill", "tool", "template"}
	for _, row := range []struct {
		text string
		want []string
	}{
		{"ulr", []string{"url"}},
		{"lsit", []string{"list"}},
		{"skil", []string{"skill"}},
		{"skilll", []string{"skill"}},
		{"Tools", []string{"tool"}},
		{"temp", []string{"template"}},
		{"t", nil},
		{"xyz", nil},
		{"", nil},
	} {
		if diff := cmp.Diff(row.want, Similar(row.text, words)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", row.text, diff)
		}
	}
}

func TestEdits(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "ab", 2}, {"ab", "", 2}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "abd", 1}, {"abc", "ab", 1}, {"ca", "abc", 3},
	} {
		if got := edits(row.a, row.b); got != row.want {
			t.Errorf("edits(%q, %q) = %d, want %d", row.a, row.b, got, row.want)
		}
	}
}
