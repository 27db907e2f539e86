package analyze

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"cairn/services/internal/estate"
)

// openFor opens text in the cache for a run of a tenant, and fails the test on
// an error. done ends the run.
func openFor(t *testing.T, c *cache, tenant string, text []byte) (e *estate.Estate, done func()) {
	t.Helper()
	e, done, err := tryOpen(c, tenant, text)
	if err != nil {
		t.Fatal(err)
	}
	return e, done
}

// tryOpen is openFor that returns the error.
func tryOpen(c *cache, tenant string, text []byte) (*estate.Estate, func(), error) {
	run := &reservation{pool: c.pool, tenant: tenant}
	if !run.resize(bodyFactor * int64(len(text))) {
		return nil, nil, errMemory
	}
	c.evict()
	e, done, err := c.open(context.Background(), text, run)
	if err != nil {
		run.resize(0)
		return nil, nil, err
	}
	return e, func() { done(); run.resize(0) }, nil
}

// opened is openFor for a run that ends at once.
func opened(t *testing.T, c *cache, text []byte) *estate.Estate {
	t.Helper()
	e, done := openFor(t, c, "", text)
	done()
	return e
}

// numbered returns estates of 10 kB that differ in n.
func numbered(n int) []byte {
	return fmt.Appendf(nil, `"{\"a\":[%d%s]}"`, n, strings.Repeat(" ", 10_000))
}

func TestCache(t *testing.T) {
	t.Parallel()
	c := newCache(64<<20, 8<<20)
	first := opened(t, c, numbered(1))
	if opened(t, c, numbered(1)) != first {
		t.Error("the same text was parsed again")
	}
	if opened(t, c, numbered(2)) == first {
		t.Error("another text got the same estate")
	}
	for n := range 1000 {
		opened(t, c, numbered(10+n))
	}
	if c.idle > c.most || c.unused.Len() != len(c.byHash) {
		t.Errorf("holds %d of %d bytes, %d in order and %d by hash", c.idle, c.most, c.unused.Len(), len(c.byHash))
	}
	if opened(t, c, numbered(1)) == first {
		t.Error("the least recently used was kept")
	}
	held := c.unused.Len()
	if _, _, err := tryOpen(c, "", []byte(`"{"`)); err == nil || c.unused.Len() != held || len(c.byHash) != held {
		t.Errorf("a text that is not JSON: error %v, and %d are held instead of %d", err, len(c.byHash), held)
	}
	if reserved, _ := c.pool.Held(); reserved != 0 {
		t.Errorf("%d bytes are reserved without a run", reserved)
	}
}

func TestCacheIsEvictedForRuns(t *testing.T) {
	t.Parallel()
	c := newCache(2<<20, 2<<20)
	for n := range 8 {
		opened(t, c, numbered(n))
	}
	cached := c.unused.Len()
	if cached < 2 {
		t.Fatalf("%d estates are cached, want several", cached)
	}
	run := &reservation{pool: c.pool, tenant: "acme"}
	if !run.resize(2 << 20) {
		t.Fatal("a run was refused for estates that no run uses")
	}
	c.evict()
	if c.idle != 0 || c.unused.Len() != 0 {
		t.Errorf("%d estates of %d bytes are still cached beside a run that takes all memory", c.unused.Len(), c.idle)
	}
}

func TestEstatesInUseCountOnce(t *testing.T) {
	t.Parallel()
	c := newCache(64<<20, 0)
	e, first := openFor(t, c, "acme", numbered(1))
	size := int64(e.Size() + len(numbered(1)))
	_, second := openFor(t, c, "globex", numbered(1))
	for _, step := range []struct {
		name string
		done func()
		want int64
	}{
		{"two runs on one estate", func() {}, size},
		{"the first has ended", first, size},
		{"both have ended, and nothing is cached", second, 0},
	} {
		step.done()
		if reserved, tenants := c.pool.Held(); reserved != step.want {
			t.Errorf("%s: %d bytes are reserved by %v, want %d", step.name, reserved, tenants, step.want)
		}
	}
	if len(c.byHash) != 0 {
		t.Errorf("%d estates are cached, want none", len(c.byHash))
	}
}

// TestEstatesLargerThanReserved has estates of many small arrays, which take far
// more than bodyFactor bytes for each byte of text.
func TestEstatesLargerThanReserved(t *testing.T) {
	t.Parallel()
	c := newCache(24<<20, 0)
	var done []func()
	for n := 0; ; n++ {
		text := fmt.Appendf(nil, `"{\"n\":%d`, n)
		for i := range 5000 {
			text = fmt.Appendf(text, `,\"%d\":[{\"x\":1}]`, i)
		}
		_, end, err := tryOpen(c, "", append(text, `}"`...))
		if err != nil {
			if !errors.Is(err, errMemory) {
				t.Fatal(err)
			}
			break
		}
		done = append(done, end)
		if n == 20 {
			t.Fatal("estates were opened beyond the memory")
		}
	}
	if len(done) == 0 {
		t.Error("no estate was opened")
	}
	for _, end := range done {
		end()
	}
	if reserved, _ := c.pool.Held(); reserved != 0 {
		t.Errorf("%d bytes are reserved without a run", reserved)
	}
}

func TestCacheTellsLargeEstatesApart(t *testing.T) {
	t.Parallel()
	space := strings.Repeat(" ", 100_000)
	c := newCache(64<<20, 64<<20)
	for _, n := range []int{1, 22} {
		e := opened(t, c, fmt.Appendf(nil, `"{%s\"a\":[%s]%s}"`, space, strings.Repeat("3,", n)+"4", space[2*n:]))
		if e.Count("a") != n+1 {
			t.Errorf("%d records, want %d", e.Count("a"), n+1)
		}
	}
}

func TestCacheParsesOnce(t *testing.T) {
	t.Parallel()
	c := newCache(64<<20, 64<<20)
	const callers = 8
	var ready, done sync.WaitGroup
	ready.Add(callers)
	var got [callers]*estate.Estate
	for i := range got {
		done.Go(func() {
			text := []byte(`"[` + strings.Repeat("1,", 100_000) + `1]"`) // each has a copy of its own
			ready.Done()
			ready.Wait()
			e, end, err := tryOpen(c, "", text)
			if err != nil {
				t.Error(err)
				return
			}
			got[i] = e
			end()
		})
	}
	done.Wait()
	for _, e := range got {
		if e == nil || e != got[0] {
			t.Error("one text was parsed more than once at the same moment")
		}
	}
	if want := int64(got[0].Size() + len(`"[1]"`) + 2*100_000); c.idle != want || c.unused.Len() != 1 {
		t.Errorf("holds %d estates of %d bytes, want one of %d", c.unused.Len(), c.idle, want)
	}
}
