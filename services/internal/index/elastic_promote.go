package index

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/elastic/go-elasticsearch/v8/esapi"
)

// Promote implements Migrator.
func (e *elastic) Promote(ctx context.Context) error {
	g := e.filled.Load()
	if g == nil {
		return fmt.Errorf("promote an index: %w: nothing was applied", ErrLost)
	}
	there, err := e.listIndices(ctx)
	if err != nil {
		return fmt.Errorf("promote an index: %w", err)
	}
	if len(there.missing(g.plan)) > 0 || there.name(g.plan) != g.name {
		g.lost.Store(true)
		return fmt.Errorf("promote index %s: %w", g.name, ErrLost)
	}
	if there.live(e.settings) == g.suffix() {
		return nil
	}
	if err := e.moveAliases(ctx, g.plan, there); err != nil {
		return fmt.Errorf("promote index %s: %w", g.name, err)
	}
	if err := e.deleteOld(ctx, there, g.suffix()); err != nil {
		return fmt.Errorf("index %s is live: %w", g.name, err)
	}
	return nil
}

// moveAliases moves the search aliases of all kinds to the indices of the plan
// atomically.
func (e *elastic) moveAliases(ctx context.Context, p *plan, there indices) error {
	var actions []object
	for name, index := range there {
		alias := p.kindAlias(name)
		if _, ok := index.Aliases[alias]; ok && p.suffixOf(name) != p.suffix() {
			actions = append(actions, object{"remove": object{"index": name, "alias": alias, "must_exist": false}})
		}
	}
	for _, kind := range kinds {
		actions = append(actions, object{"add": object{"index": p.index(kind), "alias": p.alias(kind)}})
	}
	body, err := json.Marshal(object{"actions": actions})
	if err != nil {
		return err
	}
	req := esapi.IndicesUpdateAliasesRequest{Body: bytes.NewReader(body)}
	if err := e.link.call(ctx, adminTime, req, &struct{}{}); err != nil {
		return fmt.Errorf("switch to %s: %w", p.suffix(), err)
	}
	return nil
}

// deleteOld deletes generations older than the previous live one. The previous one is
// kept: a worker with the previous settings may still write to it, and a rollback
// finds it nearly complete. Younger ones may be in the process of being filled.
func (e *elastic) deleteOld(ctx context.Context, before indices, live string) error {
	since := before.liveSince(e.settings)
	var old []string
	for name, index := range before {
		if index.Settings.Index.Made < since && e.suffixOf(name) != live {
			old = append(old, name)
		}
	}
	if len(old) == 0 {
		return nil
	}
	ignore := true
	req := esapi.IndicesDeleteRequest{Index: old, IgnoreUnavailable: &ignore}
	if err := e.link.call(ctx, adminTime, req, &struct{}{}); err != nil {
		return fmt.Errorf("delete the old %s: %w", strings.Join(old, ", "), err)
	}
	return nil
}
