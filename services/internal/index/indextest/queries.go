package indextest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/services/internal/index"
)

var allMethods = []index.Method{index.Hybrid, index.Text, index.Vector}

// foundByID has documents that match the words of the id better.
func foundByID(t testing.TB, s subject) {
	s.apply(catalog()...)
	c := put("network.list_vlans.v2", "Brew coffee", "Makes an espresso", 50)
	c.Domain = "kitchen"
	s.apply(c)
	for _, method := range allMethods {
		q := index.Query{Kind: "skill", Text: c.ID, TopK: 1, By: method}
		for _, q.Text = range []string{c.ID, " " + c.ID + "?\n"} {
			if got := s.search(q).Hits; len(got) != 1 || got[0].ID != c.ID || got[0].Score != 1 {
				t.Errorf("%q by %s: got %+v, want %s with a score of 1", q.Text, method, got, c.ID)
			}
		}
		q.Filter.Domain = "network"
		if got := ids(s.search(q)); len(got) > 0 && got[0] == c.ID {
			t.Errorf("%q by %s: got %v, which the filter excludes", q.Text, method, got)
		}
		q.Filter, q.Tenant = index.Filter{}, "acme"
		if got := ids(s.search(q)); len(got) > 0 {
			t.Errorf("%q by %s: got %v of another tenant", q.Text, method, got)
		}
	}
	c.Status, c.Revision = "retired", 51
	s.apply(c)
	if got := ids(s.searchSkills(c.ID, "")); len(got) > 0 && got[0] == c.ID {
		t.Errorf("got the retired %v", got)
	}
}

func foundByJoinedName(_ testing.TB, s subject) {
	s.apply(catalog()...)
	s.apply(put("jira.createForIssue", "jira createForIssue", "", 50))
	for _, query := range []string{"createForIssue", "create for issue", "create_for_issue", "issue create"} {
		s.wantBest(query, "jira.createForIssue")
	}
	s.wantBest("checkCertificates", "security.check_certificates")
}

func punctuated(t testing.TB, s subject) {
	s.apply(catalog()...)
	coffee := put("kitchen.coffee", "Brew coffee", "Makes an espresso", 50)
	coffee.Examples = []string{"Who brews me a strong cup?"}
	s.apply(coffee)
	for _, query := range []string{"who brews me a strong cup", "Who brews me a strong cup?"} {
		s.wantBest(query, coffee.ID)
	}
	for _, method := range allMethods {
		q := index.Query{Kind: "skill", Text: "list the VLANs of the network", TopK: 5, By: method}
		want := s.search(q).Hits
		if len(want) == 0 {
			t.Fatal("nothing found")
		}
		for _, end := range []string{"?", "!!!", " ...", "\u2026", "\uff01", ". !? "} {
			end, q := end, q
			q.Text += end
			if diff := cmp.Diff(want, s.search(q).Hits); diff != "" {
				t.Errorf("%s with %q at the end (-want +got):\n%s", method, end, diff)
			}
		}
		for _, q.Text = range []string{"***", "!!!", "?", "...", "- - -", "\uff1f"} {
			if got := ids(s.search(q)); len(got) > 0 {
				t.Errorf("%q by %s: got %v, want nothing", q.Text, method, got)
			}
		}
	}
}

func foundByLastSentence(_ testing.TB, s subject) {
	s.apply(catalog()...)
	for _, filler := range []string{"I had a nice day at the lake. ", "Thank you for all of your help so far! "} {
		s.wantBest(strings.Repeat(filler, 20)+"Which certificates will expire soon?", "security.check_certificates")
	}
}

func foundByFullWidth(_ testing.TB, s subject) {
	s.apply(catalog()...)
	s.apply(put("kitchen.coffee", "\uff22\uff32\uff25\uff37 \uff23\uff2f\uff26\uff26\uff25\uff25",
		"Makes an espresso", 50))
	s.wantBest("\uff23\uff25\uff32\uff34\uff29\uff26\uff29\uff23\uff21\uff34\uff25\uff33",
		"security.check_certificates")
	s.wantBest("brew coffee", "kitchen.coffee")
	s.wantBest("\ufb01nd outdated software", "software.find_outdated") // with a ligature
}

func foundByMisspeltWord(_ testing.TB, s subject) {
	s.apply(catalog()...)
	for query, want := range map[string]string{
		"certficates":                    "security.check_certificates",
		"certifciates":                   "security.check_certificates",
		"certificattes":                  "security.check_certificates",
		"restore the bakcup of database": "storage.restore_backup",
		"who is responsable":             "people.list_owners", //nolint:misspell // a typing error
		"outdatde packages":              "software.find_outdated",
		"which volumse have free space":  "storage.check_capacity",
	} {
		s.wantBest(query, want)
	}
}
