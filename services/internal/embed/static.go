package embed

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"cairn/services/internal/embed/static"
)

const staticFloor = 0.2

// tableEmbedder embeds texts with a table of token vectors, without a server.
type tableEmbedder struct {
	*static.Table
	name  string
	floor float64
}

// openStatic opens the table of the program, or the table in a directory.
func openStatic(_ context.Context, rawURL string) (Embedder, error) {
	path, ok := strings.CutPrefix(rawURL, "static:")
	if !ok {
		return nil, errScheme
	}
	directory, settings, _ := strings.Cut(path, "?")
	t := &tableEmbedder{floor: cautiousFloor}
	values, err := url.ParseQuery(settings)
	if err != nil {
		return nil, err
	}
	if directory == "" {
		t.floor = staticFloor
		t.Table, err = static.BuiltIn()
	} else {
		t.Table, err = static.Open(directory)
	}
	if err != nil {
		return nil, err
	}
	for key := range values {
		if key != "floor" {
			return nil, fmt.Errorf("setting %q: expected floor", key)
		}
		if t.floor, err = parseFloor(values.Get(key)); err != nil {
			return nil, err
		}
	}
	t.name = fmt.Sprintf("static@%.12s", t.Digest())
	return averagingEmbedder{t}, nil
}

// parseFloor returns the lowest cosine of a relevant best match.
func parseFloor(value string) (float64, error) {
	floor, err := strconv.ParseFloat(value, 64)
	if err != nil || !(floor >= 0 && floor <= 1) {
		return 0, fmt.Errorf("floor=%s: expected a cosine from 0 to 1", value)
	}
	return floor, nil
}

func (t *tableEmbedder) Space() Space {
	return Space{Name: t.name, Dimensions: t.Dimensions(), Static: true, Floor: t.floor}
}

func (t *tableEmbedder) Check(context.Context) error { return nil }

func (t *tableEmbedder) Embed(ctx context.Context, _ Purpose, texts []string) ([][]float32, error) {
	return embedEach(ctx, texts, t.Table.Embed)
}
