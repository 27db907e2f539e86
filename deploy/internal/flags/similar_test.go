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
