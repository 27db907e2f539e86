package index

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQueryParts(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, query string
		want        []string // besides the query itself
	}{
		{"one sentence is the whole query", "List all the VLANs.", nil},
		{
			"several sentences", "List all the VLANs. Which hosts are down? Restart them all now!",
			[]string{"List all the VLANs.", "Which hosts are down?", "Restart them all now!"},
		},
		{"short sentences are omitted", "Hi there. List all the VLANs. Thanks.", []string{"List all the VLANs."}},
		{"a mark inside a word or number ends no sentence", "Does host.example.com run version 1.2 of it", nil},
		{"a lower-case letter continues the sentence", "Show hosts e.g. the ones which are down", nil},
		{
			"lines", "list all the vlans\n\n- restart the old hosts\n",
			[]string{"list all the vlans", "- restart the old hosts"},
		},
		{"consecutive marks", "List all the VLANs?! Restart the old hosts...",
			[]string{"List all the VLANs?!", "Restart the old hosts..."}},
	} {
		want := append([]string{row.query}, row.want...)
		if diff := cmp.Diff(want, parts(row.query)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

func TestPartsOfEmptyQuery(t *testing.T) {
	t.Parallel()
	if got := parts(" \n\t"); len(got) > 0 {
		t.Errorf("got %q, want none", got)
	}
}

func TestPartsAreLimited(t *testing.T) {
	t.Parallel()
	got := parts(strings.Repeat("List all the VLANs. ", 100))
	if len(got) != 1+maxSentences {
		t.Errorf("got %d parts, want the whole and %d sentences", len(got), maxSentences)
	}
}
