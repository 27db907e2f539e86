package analyze

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"cairn/services/internal/estate"
)

func TestCache(t *testing.T) {
	t.Parallel()
	text := func(n int) []byte { return fmt.Appendf(nil, `"{\"a\":[%d%s]}"`, n, strings.Repeat(" ", 10_000)) }
	c := newCache(8 << 20)
	first, err := c.open(text(1))
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := c.open(text(1)); again != first {
		t.Error("the same text was parsed again")
	}
	if other, _ := c.open(text(2)); other == first {
		t.Error("another text got the same estate")
	}
	for n := range 1000 {
		if _, err := c.open(text(10 + n)); err != nil {
			t.Fatal(err)
		}
	}
	if c.size > c.most || c.used.Len() != len(c.byHash) {
		t.Errorf("holds %d of %d bytes, %d in order and %d by hash", c.size, c.most, c.used.Len(), len(c.byHash))
	}
	if again, _ := c.open(text(1)); again == first {
		t.Error("the least used was kept")
	}
	held := c.used.Len()
	if _, err := c.open([]byte(`"{"`)); err == nil || c.used.Len() != held {
		t.Errorf("what is no JSON: error %v, and %d are held instead of %d", err, c.used.Len(), held)
	}
}

func TestCacheTellsLargeEstatesApart(t *testing.T) {
	t.Parallel()
	space := strings.Repeat(" ", 100_000)
	c := newCache(64 << 20)
	for _, n := range []int{1, 22} {
		e, err := c.open(fmt.Appendf(nil, `"{%s\"a\":[%s]%s}"`, space, strings.Repeat("3,", n)+"4", space[2*n:]))
		if err != nil || e.Count("a") != n+1 {
			t.Errorf("%d records, error %v, want %d", e.Count("a"), err, n+1)
		}
	}
}

func TestCacheParsesOnce(t *testing.T) {
	t.Parallel()
	c := newCache(64 << 20)
	const callers = 8
	var ready, done sync.WaitGroup
	ready.Add(callers)
	var got [callers]*estate.Estate
	for i := range got {
		done.Go(func() {
			text := []byte(`"[` + strings.Repeat("1,", 100_000) + `1]"`) // each has a copy of its own
			ready.Done()
			ready.Wait()
			got[i], _ = c.open(text)
		})
	}
	done.Wait()
	for _, e := range got {
		if e == nil || e != got[0] {
			t.Error("one text was parsed more than once at the same moment")
		}
	}
	if want := got[0].Size() + len(`"[1]"`) + 2*100_000; c.size != want || c.used.Len() != 1 {
		t.Errorf("holds %d estates of %d bytes, want one of %d", c.used.Len(), c.size, want)
	}
}
