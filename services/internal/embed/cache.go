package embed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"
)

const (
	// recentQueries are kept in memory: 8 MB at 1,024 dimensions.
	recentQueries = 2048
	// atOnce is how many texts are asked for before their vectors are kept:
	// more than any query has parts, and seconds of work.
	atOnce = 64
)

// cached asks its embedder for what no cache has.
type cached struct {
	Embedder
	cache  *Cache
	recent *lru.Cache[string, []float32] // of queries
	flight singleflight.Group
}

var _ served = (*cached)(nil)

// Cached is e with its vectors kept in c, by model, purpose and text: a vector
// that is there is not asked for again, by whichever process. Equal queries at
// one time are asked for once. A cache that fails costs calls, never a vector;
// one that is nil keeps queries in memory only. All vectors have the precision
// of the cache, so that a text always has the same.
func Cached(e Embedder, c *Cache) Embedder {
	if e.Space().Lexical {
		return e // as fast as any cache
	}
	recent, err := lru.New[string, []float32](recentQueries)
	if err != nil {
		panic(err) // the size is a constant
	}
	return &cached{Embedder: e, cache: c, recent: recent}
}

func (c *cached) warm(ctx context.Context) error { return Warm(ctx, c.Embedder) }

func (c *cached) watch(ctx context.Context) { Watch(ctx, c.Embedder) }

func (c *cached) Embed(ctx context.Context, purpose Purpose, texts []string) ([][]float32, error) {
	if err := ctx.Err(); err != nil || len(texts) == 0 {
		return nil, err
	}
	space := c.Space()
	if space.Name == "" { // the first call tells what the vectors belong to
		vectors, err := c.Embedder.Embed(ctx, purpose, texts)
		if err != nil {
			return nil, err
		}
		return c.keep(purpose, keys(c.Space(), purpose, texts), vectors), nil
	}
	all := keys(space, purpose, texts)
	found := c.find(ctx, purpose, all, space)
	missing := wanted{}
	for i, key := range all {
		if _, ok := found[key]; !ok {
			found[key] = nil // asked for once
			missing.add(key, texts[i])
		}
	}
	made, err := c.make(ctx, purpose, missing)
	if err != nil {
		return nil, err
	}
	for i, key := range missing.keys {
		found[key] = made[i]
	}
	vectors := make([][]float32, len(texts))
	for i, key := range all {
		vectors[i] = found[key]
	}
	return vectors, nil
}

// wanted are texts without a vector, and their keys.
type wanted struct{ keys, texts []string }

func (w *wanted) add(key, text string) {
	w.keys = append(w.keys, key)
	w.texts = append(w.texts, text)
}

// find looks for vectors in memory and in the cache.
func (c *cached) find(ctx context.Context, purpose Purpose, all []string, space Space) map[string][]float32 {
	found := map[string][]float32{}
	var further []string
	for _, key := range all {
		vector, ok := c.recent.Get(key)
		if ok {
			found[key] = vector
		} else {
			further = append(further, key)
		}
	}
	if c.cache == nil {
		return found
	}
	for key, data := range c.cache.get(ctx, purpose, further) {
		vector, ok := decode(data, space.Dimensions)
		if !ok {
			continue // made anew, and then put in its place
		}
		found[key] = vector
		if purpose == Query {
			c.recent.Add(key, vector)
		}
	}
	return found
}

// make asks for the vectors of w in one call, which equal queries share.
func (c *cached) make(ctx context.Context, purpose Purpose, w wanted) ([][]float32, error) {
	if len(w.keys) == 0 {
		return nil, nil
	}
	if purpose != Query {
		return c.ask(ctx, purpose, w)
	}
	for {
		made, err, _ := c.flight.Do(strings.Join(w.keys, ""), func() (any, error) {
			if vectors, ok := c.remembered(w.keys); ok { // a flight has just ended
				return vectors, nil
			}
			return c.ask(ctx, purpose, w)
		})
		if err == nil {
			return made.([][]float32), nil
		}
		if !left(err) || ctx.Err() != nil {
			return nil, err
		}
	}
}

// ask keeps what was made before a failure: who tries again goes on from there.
func (c *cached) ask(ctx context.Context, purpose Purpose, w wanted) (all [][]float32, err error) {
	for len(w.keys) > 0 {
		n := min(atOnce, len(w.keys))
		vectors, err := c.Embedder.Embed(ctx, purpose, w.texts[:n])
		if err != nil {
			return nil, err
		}
		all = append(all, c.keep(purpose, w.keys[:n], vectors)...)
		w = wanted{w.keys[n:], w.texts[n:]}
	}
	return all, nil
}

// remembered are the vectors of queries, when all are in memory.
func (c *cached) remembered(all []string) ([][]float32, bool) {
	vectors := make([][]float32, len(all))
	for i, key := range all {
		vector, ok := c.recent.Peek(key)
		if !ok {
			return nil, false
		}
		vectors[i] = vector
	}
	return vectors, true
}

// left reports whether err is of a caller who asked for all and did not wait.
func left(err error) bool {
	over := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	return over && !errors.Is(err, ErrUnavailable)
}

// keep stores vectors and returns them as the cache would.
func (c *cached) keep(purpose Purpose, all []string, vectors [][]float32) [][]float32 {
	kept := make([][]float32, len(vectors))
	for i, vector := range vectors {
		data, ok := encode(vector)
		if !ok {
			kept[i] = vector
			continue
		}
		kept[i], _ = decode(data, len(vector))
		if purpose == Query {
			c.recent.Add(all[i], kept[i])
		}
		if c.cache != nil {
			c.cache.put(purpose, all[i], data)
		}
	}
	return kept
}

// keys name the vectors of texts.
func keys(space Space, purpose Purpose, texts []string) []string {
	of := fmt.Sprintf("%q %d %d ", space.Name, space.Dimensions, purpose)
	all := make([]string, len(texts))
	for i, text := range texts {
		sum := sha256.Sum256([]byte(of + text))
		all[i] = hex.EncodeToString(sum[:16])
	}
	return all
}
