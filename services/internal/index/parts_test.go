package index

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQueryParts(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, query string
		want        []string // the whole first
	}{
		{"one sentence is the whole query", "List all the VLANs", []string{"List all the VLANs"}},
		{
			"several sentences", "List all the VLANs. Which hosts are down? Restart them all now!",
			[]string{
				"List all the VLANs. Which hosts are down? Restart them all now",
				"List all the VLANs", "Which hosts are down", "Restart them all now",
			},
		},
		{"short sentences are omitted", "Hi there. List all the VLANs. Thanks.",
			[]string{"Hi there. List all the VLANs. Thanks", "List all the VLANs"}},
		{"a mark inside a word or number ends no sentence", "Does host.example.com run version 1.2 of it",
			[]string{"Does host.example.com run version 1.2 of it"}},
		{"a lower-case letter continues the sentence", "Show hosts e.g. the ones which are down",
			[]string{"Show hosts e.g. the ones which are down"}},
		{
			"lines", "list all the vlans\n\n- restart the old hosts\n",
			[]string{"list all the vlans\n\n- restart the old hosts", "list all the vlans", "- restart the old hosts"},
		},
		{"punctuation at the end of a sentence is removed", "List all the VLANs?! Restart the old hosts...",
			[]string{"List all the VLANs?! Restart the old hosts", "List all the VLANs", "Restart the old hosts"}},
		{"the marks of a name or a number remain", "hosts with C# and a load above 90%",
			[]string{"hosts with C# and a load above 90%"}},
		{"a misspelt query and its correction", "list the certficates",
			[]string{"list the certficates", "list the certficates", "list the certificates"}},
		{
			"the corrections of sentences", "List all the netwroks. Restart the old hosts. Which voluems are full?",
			[]string{
				"List all the netwroks. Restart the old hosts. Which voluems are full",
				"List all the netwroks", "Restart the old hosts", "Which voluems are full",
				"List all the networks", "Which volumes are full",
			},
		},
		{"a query without a letter or a digit has no parts", "*** !!! ???", nil},
		{"an empty query has no parts", " \n\t", nil},
	} {
		if diff := cmp.Diff(row.want, parts(row.query)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

// TestPartsAreLimited groups the sentences of a long query: each is in one of the groups.
func TestPartsAreLimited(t *testing.T) {
	t.Parallel()
	var query strings.Builder
	for i := range 100 {
		fmt.Fprintf(&query, "List all VLANs of floor %d. ", i)
	}
	got := parts(query.String())
	if len(got) != 1+maxSentences {
		t.Errorf("got %d parts, want the whole and %d groups", len(got), maxSentences)
	}
	if all := strings.Join(got[1:], ". "); all != got[0] {
		t.Errorf("the groups are %q, want all sentences", all)
	}
}
