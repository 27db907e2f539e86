package catalog_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/schemas"
	"cairn/services/internal/catalog"
)

func change(revision uint64, n int) catalog.Change {
	return catalog.Change{Key: skill(n), Record: []byte(fmt.Sprint(revision)), Revision: revision}
}

func TestViewApply(t *testing.T) {
	t.Parallel()
	view := catalog.NewView[[]byte]()
	tenants := change(3, 1)
	tenants.Key.Tenant = "acme"
	apply(view, change(1, 1), change(2, 2), tenants, change(4, 1))
	apply(view, catalog.Change{Key: skill(2), Revision: 5, Removed: true},
		catalog.Change{Key: skill(9), Revision: 6, Removed: true})
	apply(view)
	for _, row := range []struct {
		name string
		key  catalog.Key
		want string
	}{
		{"replaced", skill(1), "4"},
		{"removed", skill(2), ""},
		{"never written", skill(3), ""},
		{"another tenant", tenants.Key, "3"},
		{"a tenant without records", catalog.Key{Kind: schemas.KindSkill, Tenant: "none", ID: skill(1).ID}, ""},
	} {
		record, ok := view.Get(row.key)
		if string(record) != row.want || ok != (row.want != "") {
			t.Errorf("%s: %q, %v, want %q", row.name, record, ok, row.want)
		}
	}
	if got := view.Applied.Revision(); got != 6 {
		t.Errorf("revision %d, want 6", got)
	}
	if got := length(view, schemas.KindSkill); got != 1 {
		t.Errorf("%d global skills, want 1", got)
	}
	if got := length(view, schemas.KindTool); got != 0 {
		t.Errorf("%d tools, want 0", got)
	}
}

// TestViewGroups moves a record between groups, and removes it.
func TestViewGroups(t *testing.T) {
	t.Parallel()
	view := catalog.NewView[[]byte]()
	view.Groups = func(record []byte) []string { // revisions by their last digits
		if record[0] == '4' {
			return nil
		}
		return []string{"all", string(record[len(record)-1:])}
	}
	ids := func(group string) (ids []string) {
		for id := range view.After(catalog.Collection{Kind: schemas.KindSkill, Group: group}, "") {
			ids = append(ids, id)
		}
		return ids
	}
	a, b := skill(1).ID, skill(2).ID
	for _, row := range []struct {
		name               string
		change             catalog.Change
		all, single, three []string
	}{
		{"a record", change(1, 1), []string{a}, []string{a}, nil},
		{"another record of the group", change(11, 2), []string{a, b}, []string{a, b}, nil},
		{"moved to another group", change(13, 1), []string{a, b}, []string{b}, []string{a}},
		{"without groups", change(40, 1), []string{b}, []string{b}, nil},
		{"removed", catalog.Change{Key: skill(2), Revision: 50, Removed: true}, nil, nil, nil},
	} {
		apply(view, row.change)
		want := [][]string{row.all, row.single, row.three}
		if diff := cmp.Diff(want, [][]string{ids("all"), ids("1"), ids("3")}); diff != "" {
			t.Errorf("%s: the groups differ (-want +got)\n%s", row.name, diff)
		}
	}
}

// length returns the number of the global records of the kind.
func length(view *catalog.View[[]byte], kind string) (n int) {
	for range view.After(catalog.Collection{Kind: kind}, "") {
		n++
	}
	return n
}

func TestViewPages(t *testing.T) {
	t.Parallel()
	view := catalog.NewView[[]byte]()
	var want []string
	for i, n := range rand.Perm(300) {
		apply(view, change(uint64(i+1), n))
		want = append(want, skill(n).ID)
	}
	slices.Sort(want)
	var got []string
	for page := 0; ; page++ {
		cursor, n := "", 0
		if len(got) > 0 {
			cursor = got[len(got)-1]
		}
		for id := range view.After(catalog.Collection{Kind: schemas.KindSkill}, cursor) {
			if got = append(got, id); n == 6 {
				break
			}
			n++
		}
		if n == 0 {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestViewPagesDuringWrites(t *testing.T) {
	t.Parallel()
	view := catalog.NewView[[]byte]()
	ids := func() (all []string) {
		for id := range view.After(catalog.Collection{Kind: schemas.KindSkill}, "") {
			all = append(all, id)
		}
		return all
	}
	steps := []struct {
		change catalog.Change
		want   []string
	}{
		{change(1, 2), []string{skill(2).ID}},
		{change(2, 1), []string{skill(1).ID, skill(2).ID}},
		{catalog.Change{Key: skill(2), Revision: 3, Removed: true}, []string{skill(1).ID}},
		{change(4, 2), []string{skill(1).ID, skill(2).ID}},
		{change(5, 2), []string{skill(1).ID, skill(2).ID}},
	}
	for _, step := range steps {
		apply(view, step.change)
		if diff := cmp.Diff(step.want, ids()); diff != "" {
			t.Errorf("at revision %d (-want +got):\n%s", step.change.Revision, diff)
		}
	}
}

func TestViewConcurrentReads(t *testing.T) {
	t.Parallel()
	view := catalog.NewView[[]byte]()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 500 {
				view.Get(skill(i % 20))
				last := ""
				for id := range view.After(catalog.Collection{Kind: schemas.KindSkill}, "") {
					if id <= last {
						t.Errorf("%s after %s", id, last)
					}
					last = id
				}
			}
		})
	}
	for i := range 2000 {
		c := change(uint64(i+1), i%40)
		c.Removed = i%3 == 0
		apply(view, c)
	}
	wg.Wait()
}

func BenchmarkViewGet(b *testing.B) {
	view := catalog.NewView[[]byte]()
	for n := range 10_000 {
		apply(view, change(uint64(n+1), n))
	}
	key := skill(5000)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			view.Get(key)
		}
	})
}
