package index

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/elastic/go-elasticsearch/v8/esapi"
)

// generation is a plan whose indices exist on the server.
type generation struct {
	*plan
	name string
	lost atomic.Bool // applied documents are gone from the server
}

// Generation implements Migrator.
func (e *elastic) Generation(ctx context.Context) (string, error) {
	space, err := e.space(ctx)
	if err != nil {
		return "", fmt.Errorf("generation of the index: %w", err)
	}
	g, err := e.generate(ctx, e.planFor(space))
	if err != nil {
		return "", fmt.Errorf("generation of the index: %w", err)
	}
	return g.name, nil
}

// NewGeneration implements Migrator.
func (e *elastic) NewGeneration(ctx context.Context) (string, error) {
	space, err := e.space(ctx)
	if err != nil {
		return "", fmt.Errorf("create index generation: %w", err)
	}
	there, err := e.listIndices(ctx)
	if err != nil {
		return "", fmt.Errorf("create index generation: %w", err)
	}
	p := there.newest(e.planFor(space))
	if there.live(e.settings) == p.suffix() {
		p = p.at(p.build + 1)
	}
	g, err := e.createMissing(ctx, p, there)
	if err != nil {
		return "", fmt.Errorf("create index generation: %w", err)
	}
	return g.name, nil
}

// current returns the generation that documents of the plan are written to.
// Concurrent calls agree on one.
func (e *elastic) current(ctx context.Context, p *plan) (*generation, error) {
	g := e.filled.Load()
	switch {
	case g == nil || g.fingerprint != p.fingerprint:
		return e.generate(ctx, p)
	case g.lost.Load():
		// A new index here would silently lack all earlier documents.
		return nil, fmt.Errorf("%w: generation %s", ErrLost, g.name)
	}
	return g, nil
}

// generate returns the newest generation of the plan and creates missing indices.
func (e *elastic) generate(ctx context.Context, p *plan) (*generation, error) {
	there, err := e.listIndices(ctx)
	if err != nil {
		return nil, err
	}
	return e.createMissing(ctx, there.newest(p), there)
}

func (e *elastic) createMissing(ctx context.Context, p *plan, there indices) (_ *generation, err error) {
	missing := there.missing(p)
	for _, kind := range missing {
		if err := e.create(ctx, p, kind); err != nil {
			return nil, err
		}
	}
	if len(missing) > 0 {
		if there, err = e.listIndices(ctx); err != nil {
			return nil, err
		}
	}
	g := &generation{plan: p, name: there.name(p)}
	e.filled.Store(g)
	return g, nil
}

// create creates the index of a kind. An existing index is not an error.
func (e *elastic) create(ctx context.Context, p *plan, kind string) error {
	body := object{"aliases": object{p.writeAlias(kind): object{}}}
	if err := json.Unmarshal(p.body, &body); err != nil {
		return err
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req := esapi.IndicesCreateRequest{Index: p.index(kind), Body: bytes.NewReader(text)}
	err = e.link.call(ctx, adminTime, req, &struct{}{})
	var status *statusError
	if errors.As(err, &status) && status.Type == "resource_already_exists_exception" {
		return e.open(ctx, p, kind)
	}
	if err != nil {
		return fmt.Errorf("create index %s: %w", p.index(kind), err)
	}
	return nil
}

// open adds the write alias to an index without one, such as an index restored
// from a snapshot.
func (e *elastic) open(ctx context.Context, p *plan, kind string) error {
	req := esapi.IndicesPutAliasRequest{Index: []string{p.index(kind)}, Name: p.writeAlias(kind)}
	if err := e.link.call(ctx, adminTime, req, &struct{}{}); err != nil {
		return fmt.Errorf("open index %s: %w", p.index(kind), err)
	}
	return nil
}
