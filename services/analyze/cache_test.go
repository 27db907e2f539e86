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

// openFor opens text for a run of tenant and fails the test on an error. The caller
// calls done to end the run.
func openFor(t *testing.T, c *cache, tenant string, text []byte) (e *estate.Estate, done func()) {
	t.Helper()
	e, done, err := tryOpen(c, tenant, text)
	if err != nil {
		t.Fatal(err)
	}
	return e, done
}

// tryOpen is openFor, but returns the error.
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

// opened opens text for a run that ends immediately.
func opened(t *testing.T, c *cache, text []byte) *estate.Estate {
	t.Helper()
	e, done := openFor(t, c, "", text)
	done()
	return e
}

// numbered returns an estate of 10 kB that contains n.
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
	if c.idle > c.maxIdle || c.unused.Len() != len(c.byHash) {
		t.Errorf("the cache has %d of %d bytes, %d list entries and %d map entries", c.idle, c.maxIdle, c.unused.Len(),
			len(c.byHash))
	}
	if opened(t, c, numbered(1)) == first {
		t.Error("the least recently used estate was not evicted")
	}
	held := c.unused.Len()
	if _, _, err := tryOpen(c, "", []byte(`"{"`)); err == nil || c.unused.Len() != held || len(c.byHash) != held {
		t.Errorf("invalid JSON: error %v and %d entries, want %d", err, len(c.byHash), held)
	}
	if reserved := c.pool.Used(); reserved != 0 {
		t.Errorf("%d bytes are reserved after all runs, want 0", reserved)
	}
}

func TestCacheEvictsForRuns(t *testing.T) {
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
		t.Fatal("a run was refused although only idle estates take memory")
	}
	c.evict()
	if c.idle != 0 || c.unused.Len() != 0 {
		t.Errorf("%d estates of %d bytes are cached, want none", c.unused.Len(), c.idle)
	}
}

func TestSharedEstateReservedOnce(t *testing.T) {
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
		{"both have ended", second, 0},
	} {
		step.done()
		if reserved := c.pool.Used(); reserved != step.want {
			t.Errorf("%s: %d bytes are reserved, want %d", step.name, reserved, step.want)
		}
	}
	if len(c.byHash) != 0 {
		t.Errorf("%d estates are cached, want none", len(c.byHash))
	}
}

// TestReservationGrows uses estates of many small arrays, which take far more than
// bodyFactor bytes for each byte of text.
func TestReservationGrows(t *testing.T) {
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
			t.Fatal("the opened estates exceed the memory")
		}
	}
	if len(done) == 0 {
		t.Error("no estate was opened")
	}
	for _, end := range done {
		end()
	}
	if reserved := c.pool.Used(); reserved != 0 {
		t.Errorf("%d bytes are reserved after all runs, want 0", reserved)
	}
}

func TestCacheHashCollision(t *testing.T) {
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
			text := []byte(`"[` + strings.Repeat("1,", 100_000) + `1]"`) // each goroutine has a copy
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
			t.Error("one text was parsed more than once")
		}
	}
	if want := int64(got[0].Size() + len(`"[1]"`) + 2*100_000); c.idle != want || c.unused.Len() != 1 {
		t.Errorf("the cache has %d estates of %d bytes, want one of %d", c.unused.Len(), c.idle, want)
	}
}
