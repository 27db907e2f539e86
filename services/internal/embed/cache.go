package embed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	// recentQueries is the size of the query cache: 8 MB at 1,024 dimensions.
	recentQueries = 2048
	// storeBatch is the number of texts that are embedded before their vectors are stored:
	// more than the parts of a query, and seconds of work.
	storeBatch = 16
)

// cached is an embedder with a cache of vectors.
type cached struct {
	Embedder
	cache  *Cache
	recent *lru.Cache[string, []float32] // of queries
}

// Cached returns e with its vectors cached in c by model, purpose and text, shared by
// all processes. A failure of the cache causes more calls but no error; a nil cache
// caches queries in memory only. All vectors have the precision of the cache, so a text
// always has the same vector.
func Cached(e Embedder, c *Cache) Embedder {
	recent, err := lru.New[string, []float32](recentQueries)
	if err != nil {
		panic(err) // the size is a constant
	}
	return &cached{Embedder: e, cache: c, recent: recent}
}

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
		return c.store(purpose, keys(c.Space(), purpose, texts), vectors), nil
	}
	all := keys(space, purpose, texts)
	byKey := c.find(ctx, purpose, all, space)
	missing := missingTexts{}
	for i, key := range all {
		if _, ok := byKey[key]; !ok {
			byKey[key] = nil // embed once
			missing.add(key, texts[i])
		}
	}
	embedded, err := c.embedInBatches(ctx, purpose, missing)
	if err != nil {
		return nil, err
	}
	for i, key := range missing.keys {
		byKey[key] = embedded[i]
	}
	vectors := make([][]float32, len(texts))
	for i, key := range all {
		vectors[i] = byKey[key]
	}
	return vectors, nil
}

// missingTexts are texts whose vectors are not cached, with their keys.
type missingTexts struct{ keys, texts []string }

func (w *missingTexts) add(key, text string) {
	w.keys = append(w.keys, key)
	w.texts = append(w.texts, text)
}

// find looks up vectors in memory and in the cache.
func (c *cached) find(ctx context.Context, purpose Purpose, all []string, space Space) map[string][]float32 {
	byKey := map[string][]float32{}
	var notInMemory []string
	for _, key := range all {
		vector, ok := c.recent.Get(key)
		if ok {
			byKey[key] = vector
		} else {
			notInMemory = append(notInMemory, key)
		}
	}
	if c.cache == nil {
		return byKey
	}
	for key, data := range c.cache.get(ctx, purpose, notInMemory) {
		vector, ok := decode(data, space.Dimensions)
		if !ok {
			continue // invalid entry: embed and replace it
		}
		byKey[key] = vector
		if purpose == Query {
			c.recent.Add(key, vector)
		}
	}
	return byKey
}

// embedInBatches stores the vectors of each batch, so that a retry after a failure
// continues there.
func (c *cached) embedInBatches(ctx context.Context, purpose Purpose, w missingTexts) (all [][]float32, err error) {
	for len(w.keys) > 0 {
		n := min(storeBatch, len(w.keys))
		vectors, err := c.Embedder.Embed(ctx, purpose, w.texts[:n])
		if err != nil {
			return nil, err
		}
		all = append(all, c.store(purpose, w.keys[:n], vectors)...)
		w = missingTexts{w.keys[n:], w.texts[n:]}
	}
	return all, nil
}

// store stores vectors and returns them in the precision of the cache.
func (c *cached) store(purpose Purpose, all []string, vectors [][]float32) [][]float32 {
	stored := make([][]float32, len(vectors))
	for i, vector := range vectors {
		data, ok := encode(vector)
		if !ok {
			stored[i] = vector
			continue
		}
		stored[i], _ = decode(data, len(vector))
		if purpose == Query {
			c.recent.Add(all[i], stored[i])
		}
		if c.cache != nil {
			c.cache.put(purpose, all[i], data)
		}
	}
	return stored
}

// keys returns the cache keys of texts.
func keys(space Space, purpose Purpose, texts []string) []string {
	prefix := fmt.Sprintf("%q %d %d ", space.Name, space.Dimensions, purpose)
	all := make([]string, len(texts))
	for i, text := range texts {
		sum := sha256.Sum256([]byte(prefix + text))
		all[i] = hex.EncodeToString(sum[:16])
	}
	return all
}
