package index

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/elastic/go-elasticsearch/v8/esapi"
)

// Promote is described at Migrator.
func (e *elastic) Promote(ctx context.Context) error {
	g := e.filled.Load()
	if g == nil {
		return fmt.Errorf("promote an index: %w: nothing was applied", ErrLost)
	}
	there, err := e.look(ctx)
	if err != nil {
		return fmt.Errorf("promote an index: %w", err)
	}
	if len(there.missing(g.plan)) > 0 || there.name(g.plan) != g.name {
		e.filled.CompareAndSwap(g, nil)
		return fmt.Errorf("promote index %s: %w", g.name, ErrLost)
	}
	if there.live(e.settings) == g.fingerprint {
		return nil
	}
	if err := e.point(ctx, g.plan, there); err != nil {
		return fmt.Errorf("promote index %s: %w", g.name, err)
	}
	if err := e.retire(ctx, there, g.fingerprint); err != nil {
		return fmt.Errorf("index %s is live: %w", g.name, err)
	}
	return nil
}

// live returns the fingerprint of the indices that are searched; nothing,
// unless it is one and the same for all kinds.
func (i indices) live(s settings) string {
	var prints []string
	for name, index := range i {
		for _, kind := range kinds {
			if _, ok := index.Aliases[s.alias(kind)]; ok {
				prints = append(prints, s.fingerprintOf(name))
			}
		}
	}
	for _, p := range prints {
		if p != prints[0] {
			return ""
		}
	}
	if len(prints) != len(kinds) {
		return ""
	}
	return prints[0]
}

// point lets the aliases of all kinds point to the indices of the plan, in one
// step: there is no moment without an index or with two.
func (e *elastic) point(ctx context.Context, p *plan, there indices) error {
	var actions []object
	for _, kind := range kinds {
		for name, index := range there {
			if _, ok := index.Aliases[p.alias(kind)]; ok && name != p.index(kind) {
				actions = append(actions, object{"remove": object{
					"index": name, "alias": p.alias(kind), "must_exist": false,
				}})
			}
		}
		actions = append(actions, object{"add": object{"index": p.index(kind), "alias": p.alias(kind)}})
	}
	body, err := json.Marshal(object{"actions": actions})
	if err != nil {
		return err
	}
	req := esapi.IndicesUpdateAliasesRequest{Body: bytes.NewReader(body)}
	if err := e.link.call(ctx, adminTime, req, &struct{}{}); err != nil {
		return fmt.Errorf("switch to fingerprint %s: %w", p.fingerprint, err)
	}
	return nil
}

// retire deletes what is neither live nor was it before the last switch: a
// worker with the settings of before may still write to that one, and who
// takes a change back finds it nearly filled.
func (e *elastic) retire(ctx context.Context, before indices, live string) error {
	kept := before.live(e.settings)
	var old []string
	for name := range before {
		if p := e.fingerprintOf(name); p != live && p != kept {
			old = append(old, name)
		}
	}
	if len(old) == 0 || kept == "" {
		return nil
	}
	ignore := true
	req := esapi.IndicesDeleteRequest{Index: old, IgnoreUnavailable: &ignore}
	if err := e.link.call(ctx, adminTime, req, &struct{}{}); err != nil {
		return fmt.Errorf("delete the old %s: %w", strings.Join(old, ", "), err)
	}
	return nil
}

// Check is described at Migrator. While the server is left alone after
// failures, the error says so, and what the last of them was.
func (e *elastic) Check(ctx context.Context) error {
	var health struct {
		Status string `json:"status"`
	}
	req := esapi.ClusterHealthRequest{Index: []string{e.prefix + "-*"}, FilterPath: []string{"status"}}
	if err := e.link.call(ctx, e.search, req, &health); err != nil {
		return fmt.Errorf("check elasticsearch: %w", err)
	}
	if health.Status == "red" {
		return fmt.Errorf("check elasticsearch: %w: indices without their data (red)", ErrUnavailable)
	}
	return nil
}

// Status is described at Migrator.
func (e *elastic) Status(ctx context.Context) (Status, error) {
	space, err := e.space(ctx)
	if err != nil {
		return Status{}, fmt.Errorf("status of the index: %w", err)
	}
	there, err := e.look(ctx)
	if err != nil {
		return Status{}, fmt.Errorf("status of the index: %w", err)
	}
	s := Status{e.planFor(space).fingerprint, there.live(e.settings), map[string]int{}}
	for _, kind := range kinds {
		if s.Documents[kind], err = e.count(ctx, kind); err != nil {
			return Status{}, fmt.Errorf("status of the index: %w", err)
		}
	}
	return s, nil
}

func (e *elastic) count(ctx context.Context, kind string) (int, error) {
	var answer struct {
		Count int `json:"count"`
	}
	ignore := true
	req := esapi.CountRequest{
		Index: []string{e.alias(kind)}, IgnoreUnavailable: &ignore,
		Body: io.Reader(strings.NewReader(`{"query":{"term":{"status":"` + active + `"}}}`)),
	}
	err := e.link.call(ctx, e.search, req, &answer)
	return answer.Count, err
}
