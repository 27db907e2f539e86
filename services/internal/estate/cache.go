package estate

import "sync"

// cacheShare is how many bytes of computed fields and columns an estate of n
// bytes may keep: enough for those of ordinary questions.
func cacheShare(n int) int { return n/4 + 64<<10 }

// cache keeps what was computed from an array until its bytes are used up;
// from then on things are computed each time. Estates do not change, so
// nothing in it grows old.
type cache struct {
	mu   sync.Mutex
	left int
	kept map[cacheKey]any
}

// A cacheKey with an empty path and columns unset is that of an array's fields.
type cacheKey struct {
	array  *array
	path   string
	column bool
}

// cached returns what compute gives, or gave before, for key. compute also
// tells the size of its result in bytes. Two callers may compute the same.
func cached[T any](c *cache, key cacheKey, compute func() (T, int)) T {
	c.mu.Lock()
	old, ok := c.kept[key]
	c.mu.Unlock()
	if ok {
		return old.(T)
	}
	result, size := compute()
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.kept[key]; ok || size > c.left {
		return result
	}
	if c.kept == nil {
		c.kept = map[cacheKey]any{}
	}
	c.left -= size
	c.kept[key] = result
	return result
}
