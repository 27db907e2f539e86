package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
)

// corpus reads the skills of a file or folder and assigns them to the tenant.
func (e *eval) corpus(file string) ([]record, error) {
	all, err := readAll([]string{file}, nil)
	if err != nil {
		return nil, err
	}
	var records []record
	for _, f := range all {
		if f.err != nil {
			return nil, fmt.Errorf("%s: %w", f.source, f.err)
		}
		r := newRecord(f.source, foreign(f.text), e.tenant)
		if err := r.fault(); err != nil {
			return nil, fmt.Errorf("%s: %w", f.source, err)
		}
		if r.Kind == schemas.KindSkill {
			records = append(records, r)
		}
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("%s: contains no skills", file)
	}
	return records, nil
}

// foreign returns the record without its tenant.
func foreign(text jsontext.Value) jsontext.Value {
	var o object
	if json.Unmarshal(text, &o) != nil || o["tenant_id"] == nil {
		return text // rejected by newRecord
	}
	delete(o, "tenant_id")
	text, _ = json.Marshal(o, json.Deterministic(true)) // cannot fail: o was unmarshaled from JSON
	return text
}

// teach registers the corpus and returns when all of its records are searchable. It
// registers records that were not indexed at once again.
func (e *eval) teach(ctx context.Context, corpus []record, errOut io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, e.searchable)
	defer cancel()
	for {
		r := register{HTTP: e.HTTP, tenant: e.tenant}
		outcomes, err := r.settle(ctx, corpus, errOut)
		if err != nil {
			return err
		}
		var later []record
		for i, o := range outcomes {
			if o.later {
				later = append(later, corpus[i])
			}
		}
		s := summarize(corpus, outcomes)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("waiting until the corpus is searchable (see cairn status): %w", ctx.Err())
		case len(s.Refused) > 0:
			return fmt.Errorf("%d records were rejected, for example %s: %s", len(s.Refused), s.Refused[0].Source, s.Refused[0])
		case len(later) == 0:
			return nil
		}
		if err := e.await(ctx, later[0]); err != nil {
			return err
		}
		corpus = later
	}
}

// await registers r repeatedly until it is indexed at once.
func (e *eval) await(ctx context.Context, r record) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if o := send(ctx, &e.HTTP, r); ctx.Err() == nil && (o.err != nil || !o.later) {
			return o.err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting until the corpus is searchable (see cairn status): %w", ctx.Err())
		}
	}
}

const (
	// removeTimeout bounds the removal of a corpus, including after an interrupt.
	removeTimeout = 2 * time.Minute
	// removals is the maximum number of attempts to remove a record.
	removals = 3
)

// unregister removes the corpus, including skills whose registration failed.
func (e *eval) unregister(ctx context.Context, corpus []record) error {
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	var ids []string
	for _, r := range corpus {
		ids = append(ids, r.ID)
	}
	var err error
	for range removals {
		if ids, err = e.remove(ctx, ids); len(ids) == 0 {
			return nil
		}
	}
	return fmt.Errorf("%d skills of tenant %s could not be removed: %w", len(ids), e.tenant, err)
}

// remove unregisters the skills and returns those that failed, with the first error.
func (e *eval) remove(ctx context.Context, ids []string) ([]string, error) {
	errs := e.each(len(ids), connections, func(i int) error {
		path := "/register/" + schemas.KindSkill + "/" + url.PathEscape(ids[i]) + "?tenant_id=" + url.QueryEscape(e.tenant)
		return e.HTTP.Delete(ctx, path)
	})
	var left []string
	for i, err := range errs {
		if err != nil {
			left = append(left, ids[i])
		}
	}
	at := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	if at < 0 {
		return nil, nil
	}
	return left, errs[at]
}

// each calls do with 0 to n-1, at most atOnce concurrently, and returns the errors.
func (e *eval) each(n, atOnce int, do func(int) error) []error {
	errs := make([]error, n)
	next := make(chan int)
	var doing sync.WaitGroup
	for range min(n, atOnce) {
		doing.Go(func() {
			for i := range next {
				errs[i] = do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	doing.Wait()
	return errs
}
