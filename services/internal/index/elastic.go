package index

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"
	"golang.org/x/sync/errgroup"

	"cairn/schemas"
	"cairn/services/internal/embed"
)

const (
	// searchTimeout is shorter than the timeout of most gateways, about 5 s.
	searchTimeout = 4 * time.Second
	// writeTimeout bounds a bulk request. A full one takes 1 s, and many seconds while the server merges
	// segments.
	writeTimeout = 30 * time.Second
	// adminTimeout bounds other requests. Creating an index waits for its primary shard.
	adminTimeout = 15 * time.Second
)

// kinds are the searchable kinds. Each has its own index: in a common one, the
// many documents of one kind would crowd out the few of another. A generation of an
// earlier version without the index of a kind gets it and another name, so that the log is
// applied to it again, while its other indices are searched.
var kinds = schemas.SearchableKinds()

// elastic is an index in Elasticsearch, shared with other processes. It keeps no
// documents in memory.
type elastic struct {
	settings
	embedder embed.Embedder
	client   *elasticClient
	plan     atomic.Pointer[plan]
	filled   atomic.Pointer[generation] // the generation that Apply writes to; nil: not looked up yet
}

func openElastic(address string, e embed.Embedder, log string) (*elastic, error) {
	server, err := url.Parse(address)
	if err != nil {
		// The URL is not printed: the invalid part may belong to the password.
		return nil, errors.New("index: expected http://user:password@host:port, special characters of a password percent-encoded")
	}
	if server.Host == "" {
		return nil, fmt.Errorf("index %q: no host", server.Redacted())
	}
	s, err := parseSettings(server.Query())
	if err != nil {
		return nil, fmt.Errorf("index %q: %w", server.Redacted(), err)
	}
	s.log = log
	server.RawQuery = ""
	c, err := newElasticClient(server)
	if err != nil {
		return nil, fmt.Errorf("index %q: %w", server.Redacted(), err)
	}
	return &elastic{settings: s, embedder: e, client: c}, nil
}

func (e *elastic) Close() { e.client.transport.CloseIdleConnections() }

// space returns the embedder's vector space. It embeds a text when the server has
// not reported the dimensions yet.
func (e *elastic) space(ctx context.Context) (embed.Space, error) {
	if e.embedder.Space().Dimensions == 0 {
		if _, err := embedTexts(ctx, e.embedder, embed.Query, []string{"dimensions"}); err != nil {
			return embed.Space{}, fmt.Errorf("query the dimensions: %w", err)
		}
	}
	space := e.embedder.Space()
	if space.Dimensions == 0 {
		return space, fmt.Errorf("model %q does not report its dimensions", space.Name)
	}
	return space, nil
}

// Apply embeds and writes the changes, 256 per request. An error other than
// *Rejected is transient: the same changes may be applied again.
func (e *elastic) Apply(ctx context.Context, changes []Change) error {
	rejected := &Rejected{}
	for some := range slices.Chunk(latest(changes), bulkSize) {
		if err := e.apply(ctx, some, rejected); err != nil {
			return fmt.Errorf("index %d documents: %w", len(changes), err)
		}
	}
	if len(rejected.Changes) > 0 {
		return rejected
	}
	return nil
}

func (e *elastic) apply(ctx context.Context, changes []Change, rejected *Rejected) error {
	space, err := e.space(ctx)
	if err != nil {
		return err
	}
	vectors, err := embedChanges(ctx, e.embedder, changes)
	if errors.Is(err, embed.ErrRejected) {
		if len(changes) == 1 {
			rejected.add(changes[0], err.Error())
			return nil
		}
		return bisect(changes, func(some []Change) error { return e.apply(ctx, some, rejected) })
	}
	if err != nil {
		return err
	}
	g, err := e.current(ctx, e.planFor(space))
	if err != nil {
		return err
	}
	var ops []operation
	for i, c := range changes {
		op, err := g.operation(c, vectors[i])
		if err != nil {
			rejected.add(c, err.Error())
			continue
		}
		ops = append(ops, op)
	}
	err = e.write(ctx, ops, rejected)
	if errors.Is(err, ErrLost) {
		g.lost.Store(true)
	}
	return err
}

// write sends the operations and bisects a batch that the server finds too large.
func (e *elastic) write(ctx context.Context, ops []operation, rejected *Rejected) error {
	if len(ops) == 0 {
		return nil
	}
	items, err := e.bulk(ctx, ops)
	if tooLarge(err) {
		if len(ops) == 1 {
			rejected.add(ops[0].change, err.Error())
			return nil
		}
		return bisect(ops, func(some []operation) error { return e.write(ctx, some, rejected) })
	}
	if err != nil {
		return err
	}
	return checkItems(ops, items, rejected)
}

// bulk writes and refreshes in one request: 7 ms for one document, 16 ms for 50.
// Waiting for the next scheduled refresh takes up to 1 s; a separate refresh takes
// as long as this one.
func (e *elastic) bulk(ctx context.Context, ops []operation) ([]item, error) {
	lines := make([][]byte, len(ops))
	for i, op := range ops {
		lines[i] = op.lines
	}
	req := esapi.BulkRequest{
		Body: bytes.NewReader(bytes.Join(lines, nil)), RequireAlias: new(true), Refresh: "true",
		FilterPath: []string{"items.index.status", "items.index.error.type", "items.index.error.reason"},
	}
	var answer struct {
		Items []struct {
			Index item `json:"index"`
		} `json:"items"`
	}
	if err := e.client.call(ctx, writeTimeout, req, &answer); err != nil {
		return nil, err
	}
	if len(answer.Items) != len(ops) {
		return nil, fmt.Errorf("%w: %d operations, %d results", ErrUnavailable, len(ops), len(answer.Items))
	}
	items := make([]item, len(ops))
	for i, a := range answer.Items {
		items[i] = a.Index
	}
	return items, nil
}

// Generation implements Migrator.
func (e *elastic) Generation(ctx context.Context) (string, error) {
	space, err := e.space(ctx)
	if err != nil {
		return "", fmt.Errorf("get index generation: %w", err)
	}
	g, err := e.generate(ctx, e.planFor(space))
	if err != nil {
		return "", fmt.Errorf("get index generation: %w", err)
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
		p = p.withBuild(p.build + 1)
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
	err = e.client.call(ctx, adminTimeout, req, &struct{}{})
	if status, ok := errors.AsType[*statusError](err); ok && status.Type == "resource_already_exists_exception" {
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
	if err := e.client.call(ctx, adminTimeout, req, &struct{}{}); err != nil {
		return fmt.Errorf("open index %s: %w", p.index(kind), err)
	}
	return nil
}

func (e *elastic) listIndices(ctx context.Context) (indices, error) {
	req := esapi.IndicesGetRequest{Index: e.all(), FilterPath: []string{
		"*.aliases", "*.settings.index.uuid", "*.settings.index.creation_date",
	}}
	list := indices{}
	if err := e.client.call(ctx, adminTimeout, req, &list); err != nil {
		return nil, fmt.Errorf("list indices: %w", err)
	}
	for name := range list {
		if e.suffixOf(name) == "" {
			delete(list, name) // not created by Cairn
		}
	}
	return list, nil
}

// planFor returns the plan for vectors of a space.
func (e *elastic) planFor(space embed.Space) *plan {
	space.Floor = 0 // the layout does not depend on it
	if p := e.plan.Load(); p != nil && p.space == space {
		return p
	}
	body, err := json.Marshal(layout(space, e.log))
	if err != nil {
		panic(fmt.Sprintf("layout of an index: %v", err)) // it contains only strings and numbers
	}
	sum := sha256.Sum256(body)
	p := &plan{e.settings, space, body, hex.EncodeToString(sum[:6]), 0}
	e.plan.Store(p)
	return p
}

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
	if err := e.client.call(ctx, adminTimeout, req, &struct{}{}); err != nil {
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
	req := esapi.IndicesDeleteRequest{Index: old, IgnoreUnavailable: new(true)}
	if err := e.client.call(ctx, adminTimeout, req, &struct{}{}); err != nil {
		return fmt.Errorf("delete the old %s: %w", strings.Join(old, ", "), err)
	}
	return nil
}

// Search runs all lookups (words and vectors of each part) in one request. A second request is needed only while a
// generation of another model is being filled.
func (e *elastic) Search(ctx context.Context, q Query) (Result, error) {
	result, err := e.find(ctx, q)
	if err != nil {
		return Result{}, fmt.Errorf("search %s documents: %w", q.Kind, err)
	}
	return result, nil
}

func (e *elastic) find(ctx context.Context, q Query) (Result, error) {
	if q.TopK < 1 || !slices.Contains(kinds, q.Kind) {
		return Result{}, ctx.Err()
	}
	question, err := newQuestion(ctx, e.embedder, q)
	if err != nil {
		return Result{}, err
	}
	m := &multiSearch{query: q, question: question}
	if question.space.Name != "" {
		m.family = e.planFor(e.embedder.Space()).family(q.Kind)
	}
	err = e.sendLookups(ctx, m)
	switch {
	case errors.Is(err, errIncomparable) && q.By == Vector:
		err = fmt.Errorf("%w: %w", ErrNoVectors, err)
	case errors.Is(err, errIncomparable):
		m = &multiSearch{query: q, question: wordsOf(q)}
		m.degraded = TextOnly
		err = e.sendLookups(ctx, m)
	}
	if err != nil {
		return Result{}, err
	}
	return Result{Hits: relevant(m.question, m.results, q.TopK), Degraded: m.degraded}, nil
}

// sendLookups sends the lookups of a multiSearch and stores the results. Searches are
// idempotent: one whose connection breaks is retried once.
func (e *elastic) sendLookups(ctx context.Context, m *multiSearch) error {
	lookups := m.lookups()
	if len(lookups) == 0 {
		return nil
	}
	body, err := encodeLookups(lookups)
	if err != nil {
		return err
	}
	var got answers
	err = e.sendSearch(ctx, m, body, &got)
	if _, ok := errors.AsType[*connectionError](err); ok {
		err = e.sendSearch(ctx, m, body, &got)
	}
	if err != nil {
		return err
	}
	if len(got.Responses) != len(lookups) {
		return fmt.Errorf("%w: %d searches, %d answers", ErrUnavailable, len(lookups), len(got.Responses))
	}
	for i, l := range lookups {
		if err := m.add(l, got.Responses[i]); err != nil {
			return err
		}
	}
	return nil
}

func (e *elastic) sendSearch(ctx context.Context, m *multiSearch, body []byte, got *answers) error {
	req := esapi.MsearchRequest{
		Index: []string{e.alias(m.query.Kind)}, Body: bytes.NewReader(body), FilterPath: answered,
	}
	return e.client.call(ctx, e.search, req, got)
}

// Check implements Migrator. While the circuit breaker is open the error includes
// the last failure.
func (e *elastic) Check(ctx context.Context) error {
	var health struct {
		Status string `json:"status"`
	}
	req := esapi.ClusterHealthRequest{Index: e.all(), FilterPath: []string{"status"}}
	if err := e.client.call(ctx, e.search, req, &health); err != nil {
		return fmt.Errorf("check elasticsearch: %w", err)
	}
	if health.Status == "red" {
		return fmt.Errorf("check elasticsearch: %w: indices without their data (red)", ErrUnavailable)
	}
	return nil
}

// Status implements Migrator.
func (e *elastic) Status(ctx context.Context) (Status, error) {
	there, err := e.listIndices(ctx)
	if err != nil {
		return Status{}, fmt.Errorf("get index status: %w", err)
	}
	s := Status{Live: there.live(e.settings), Documents: map[string]int{}}
	if space, err := e.space(ctx); err == nil {
		s.Fingerprint = there.newest(e.planFor(space)).suffix()
	}
	counts := make([]int, len(kinds))
	all, ctx := errgroup.WithContext(ctx) // concurrently: health checks are short
	for i, kind := range kinds {
		all.Go(func() (err error) {
			counts[i], err = e.count(ctx, kind)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return Status{}, fmt.Errorf("get index status: %w", err)
	}
	for i, kind := range kinds {
		s.Documents[kind] = counts[i]
	}
	return s, nil
}

func (e *elastic) count(ctx context.Context, kind string) (int, error) {
	var answer struct {
		Count int `json:"count"`
	}
	req := esapi.CountRequest{
		Index: []string{e.alias(kind)}, IgnoreUnavailable: new(true),
		Body: strings.NewReader(`{"query":{"terms":{"status":["` + schemas.StatusActive + `","` + schemas.StatusDeprecated +
			`"]}}}`),
	}
	err := e.client.call(ctx, e.search, req, &answer)
	return answer.Count, err
}
