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

	"cairn/bus/overload"
)

const (
	// recentQueries is the size of the query cache: 8 MB at 1,024 dimensions.
	recentQueries = 2048
	// atOnce is the number of texts embedded before their vectors are stored: more
	// than a query has parts, and seconds of work.
	atOnce = 64
)

// cached embeds texts that no cache has.
type cached struct {
	Embedder
	cache  *Cache
	recent *lru.Cache[string, []float32] // of queries
	flight singleflight.Group
}

var _ served = (*cached)(nil)

// Cached returns e with its vectors cached in c by model, purpose and text, shared by
// all processes. Concurrent equal queries share one call. A failing cache costs
// calls, never a vector; a nil one caches queries in memory only. All vectors have
// the precision of the cache, so a text always has the same vector.
func Cached(e Embedder, c *Cache) Embedder {
	if e.Space().Lexical {
		return e // as fast as a cache
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
	if space.Name == "" { // the first call reports the model
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
			found[key] = nil // embed once
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

// wanted are texts without a vector, with their keys.
type wanted struct{ keys, texts []string }

func (w *wanted) add(key, text string) {
	w.keys = append(w.keys, key)
	w.texts = append(w.texts, text)
}

// find looks up vectors in memory and in the cache.
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
			continue // invalid entry: embed and replace it
		}
		found[key] = vector
		if purpose == Query {
			c.recent.Add(key, vector)
		}
	}
	return found
}

// make embeds the texts of w in one call, which equal queries share. Each of their
// requests is idle and waits for its own turn afterwards, so that none waits for the
// turn of another tenant.
func (c *cached) make(ctx context.Context, purpose Purpose, w wanted) (vectors [][]float32, err error) {
	if len(w.keys) == 0 {
		return nil, nil
	}
	err = overload.Idle(ctx, func() (err error) {
		vectors, err = c.request(ctx, purpose, w)
		return err
	})
	if err != nil {
		return nil, err
	}
	return vectors, nil
}

func (c *cached) request(ctx context.Context, purpose Purpose, w wanted) ([][]float32, error) {
	if purpose != Query {
		return c.ask(ctx, purpose, w)
	}
	for {
		made, err, _ := c.flight.Do(strings.Join(w.keys, ""), func() (any, error) {
			if vectors, ok := c.remembered(w.keys); ok { // a concurrent call has just finished
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

// ask stores the vectors made before a failure, so that a retry continues there.
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

// remembered returns the vectors of queries when all are in memory.
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

// left reports whether err is the cancellation of the caller that ran the shared call.
func left(err error) bool {
	over := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	return over && !errors.Is(err, ErrUnavailable)
}

// keep stores vectors and returns them in the precision of the cache.
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

// keys returns the cache keys of texts.
func keys(space Space, purpose Purpose, texts []string) []string {
	of := fmt.Sprintf("%q %d %d ", space.Name, space.Dimensions, purpose)
	all := make([]string, len(texts))
	for i, text := range texts {
		sum := sha256.Sum256([]byte(of + text))
		all[i] = hex.EncodeToString(sum[:16])
	}
	return all
}
