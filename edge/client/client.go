package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/tmaxmax/go-sse"
	"golang.org/x/time/rate"

	"cairn/schemas"
)

// Headers of the HTTP API.
const (
	headerAliases         = "Cairn-Aliases"
	headerRevision        = "Cairn-Revision"
	headerMinRevision     = "Cairn-Min-Revision"
	headerIgnoredRevision = "Cairn-Ignored-Revision"
	headerRun             = "Cairn-Run"
	headerMessage         = "Cairn-Message"
)

// Defaults of Config.
const (
	DefaultURL          = "http://127.0.0.1:8080"
	DefaultRetryTimeout = 15 * time.Second
)

// MaxConnections is the maximum number of idle connections that a Client keeps.
const MaxConnections = 512

// Config contains the settings of a Client. Only URL is required.
type Config struct {
	// URL is the address of an edge, or those of several, separated by commas. HOST:PORT means
	// http://HOST:PORT, or https:// for port 443.
	URL string
	// Key is an API key or an OIDC token; empty: no authentication.
	Key string
	// RetryTimeout bounds a request with its retries; 0: DefaultRetryTimeout. A
	// negative value disables retries, but not the resumption of streams.
	RetryTimeout time.Duration
}

// Client sends requests to one edge, and to the next one when the connection fails.
type Client struct{ connection }

// PutAll registers or replaces records in bulk requests. With strict, a record with warnings is
// rejected. It calls done once for each record, with its index and result. If several records have
// the same id and tenant, it is undefined which one is stored.
//
// Records that an overloaded server refuses, or whose results are lost with the connection,
// are retried until Config.RetryTimeout has passed without a result. Their results have
// the error if it is Cairn's; otherwise PutAll returns it, and it is unknown whether the
// records without a result are registered.
func (c *Client) PutAll(ctx context.Context, records []schemas.BulkRecord, strict bool,
	done func(i int, r schemas.RecordResult)) error {
	lines := make([][]byte, len(records))
	var pending []int
	for i, r := range records {
		line, err := json.Marshal(r, json.Deterministic(true))
		if err != nil {
			return fmt.Errorf("record %s: %w", r.ID, err)
		}
		lines[i], pending = line, append(pending, i)
	}
	b := &bulk{c: c, path: "/records", lines: lines, done: done}
	if strict {
		b.path += "?strict=true"
	}
	b.succeeded()
	for len(pending) > 0 {
		n := b.size(pending)
		left, retry, err := b.send(ctx, pending[:n])
		if pending = slices.Concat(left, pending[n:]); len(left) == 0 {
			continue
		}
		delay := max(b.delays.NextBackOff(), retryAfter(err))
		if !retry || c.retryTimeout < 0 || time.Now().Add(delay).After(b.deadline) || !c.wait(ctx, delay) {
			return b.fail(ctx, pending, err)
		}
		c.retries.Add(1)
	}
	return nil
}

// Health returns the health of Cairn, also if it is down. It is not retried. A caller
// without a credential for all tenants receives the status alone.
func (c *Client) Health(ctx context.Context) (h schemas.Health, err error) {
	h, _, err = c.HealthResponse(ctx)
	return h, err
}

// HealthResponse returns the health of Cairn with the headers of the response.
func (c *Client) HealthResponse(ctx context.Context) (h schemas.Health, header http.Header, err error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	res, err := c.Open(ctx, http.MethodGet, "/health", nil, nil)
	if err != nil {
		return h, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := c.readAll(res)
	if err != nil {
		return h, nil, err
	}
	if err := json.Unmarshal(text, &h); err != nil || h.Status == "" {
		return h, nil, responseError(res, text) // the body of a 503 is a health report, too
	}
	return h, res.Header, nil
}

// Identity returns the caller, as the edge sees it.
func (c *Client) Identity(ctx context.Context) (caller schemas.Caller, err error) {
	return caller, c.read(ctx, "/identity", &schemas.Nothing{}, &caller)
}

// Ping returns an error if no server responds. An unhealthy server does: it may recover
// before the next request.
func (c *Client) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	res, err := c.Open(ctx, http.MethodGet, "/health", nil, nil)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// Get returns a record, or schemas.ErrRecordNotFound.
func (c *Client) Get(ctx context.Context, key schemas.RecordKey) (Record, error) {
	return c.GetRevision(ctx, schemas.RecordAt{RecordKey: key})
}

// GetRevision returns the revision of a record, the newest one if at.Revision is empty, or
// schemas.ErrRecordNotFound if it is not retained or is a deletion.
func (c *Client) GetRevision(ctx context.Context, revision schemas.RecordAt) (Record, error) {
	path, err := target(recordPath(revision.Kind, revision.ID), &revision, schemas.ErrMalformed, "kind", "id")
	if err != nil {
		return Record{}, err
	}
	var text jsontext.Value
	header, err := c.call(ctx, get(path), nil, &text)
	if err != nil {
		return Record{}, err
	}
	r, err := newRecord(revision.Kind, text)
	r.ETag = header.Get("ETag")
	r.Token, _ = schemas.ParseConsistencyToken(header.Get(headerRevision)) // zero if absent
	return r, err
}

// History returns the retained revisions of a record, newest first, or
// schemas.ErrRecordNotFound if it has none.
func (c *Client) History(ctx context.Context, key schemas.RecordKey) ([]schemas.RecordRevision, error) {
	var h schemas.RecordHistory
	err := c.readBelow(ctx, key, "history", &h)
	return h.Revisions, err
}

// Usage returns how often the tenant of the key has used a record, or
// schemas.ErrRecordNotFound.
func (c *Client) Usage(ctx context.Context, key schemas.RecordKey) (u schemas.RecordUsage, err error) {
	err = c.readBelow(ctx, key, "usage", &u)
	return u, err
}

// readBelow reads the resource at the path below the record.
func (c *Client) readBelow(ctx context.Context, key schemas.RecordKey, below string, into any) error {
	return c.read(ctx, recordPath(key.Kind, key.ID)+"/"+below, &key, into, "kind", "id")
}

// List returns the records of a kind, ordered by id, of all pages from q.Cursor on.
func (c *Client) List(ctx context.Context, q schemas.RecordQuery) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for text, err := range pages(q.Cursor, func(cursor string) ([]jsontext.Value, *string, error) {
			q := q
			q.Cursor = cursor
			var page schemas.RecordList
			err := c.read(ctx, recordPath(q.Kind, ""), &q, &page, "kind")
			return page.Records, page.NextCursor, err
		}) {
			var r Record
			if err == nil {
				r, err = newRecord(q.Kind, text)
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// Referrers returns the records of the tenant and global ones that link to an id, of all pages
// from q.Cursor on.
func (c *Client) Referrers(ctx context.Context, q schemas.ReferrerQuery) iter.Seq2[schemas.Referrer, error] {
	return pages(q.Cursor, func(cursor string) ([]schemas.Referrer, *string, error) {
		q := q
		q.Cursor = cursor
		page, err := c.ReferrerPage(ctx, q)
		return page.Referrers, page.NextCursor, err
	})
}

// ReferrerPage returns a page of Referrers, with the number of all of them.
func (c *Client) ReferrerPage(ctx context.Context, q schemas.ReferrerQuery) (page schemas.ReferrerList, err error) {
	return page, c.read(ctx, recordPath(q.Kind, q.ID)+"/referrers", &q, &page, "kind", "id")
}

// read validates a request and reads its response at the path, with the members of the request
// that the path does not have as parameters.
func (c *Client) read(ctx context.Context, path string, q, into any, inPath ...string) error {
	path, err := target(path, q, schemas.ErrMalformed, inPath...)
	if err == nil {
		_, err = c.call(ctx, get(path), nil, into)
	}
	return err
}

// Put registers or replaces a record. It returns schemas.ErrInvalidRegistration for an
// invalid record, and schemas.ErrPreconditionFailed if the precondition does not hold.
func (c *Client) Put(ctx context.Context, r schemas.PutRecord, p schemas.Precondition) (Stored, error) {
	if err := r.Validate(); err != nil {
		return Stored{}, err
	}
	path, err := target(recordPath(r.Kind, r.ID), &struct {
		TenantID *string `json:"tenant_id,omitzero"`
		schemas.Strictness
	}{r.TenantID, r.Strictness}, schemas.ErrInvalidRegistration)
	if err != nil {
		return Stored{}, err
	}
	var s Stored
	header, err := c.call(ctx, conditional(request{method: http.MethodPut, path: path}, p), r.Record, &s.RecordStored)
	if err != nil {
		return Stored{}, err
	}
	s.ETag = header.Get("ETag")
	s.Token, _ = schemas.ParseConsistencyToken(header.Get(headerRevision)) // zero if absent
	return s, nil
}

// Delete deletes the record of the tenant, or the global one without a tenant. It succeeds
// if there is none, unless the precondition requires one: with IfMatch "*", it returns
// schemas.ErrPreconditionFailed. Unless d forces it, it returns schemas.ErrRecordReferenced if other records
// link to the record. aliases are the names of the aliases that were deleted with the record.
func (c *Client) Delete(ctx context.Context, d schemas.DeleteRecord,
	p schemas.Precondition) (aliases []string, err error) {
	path, err := target(recordPath(d.Kind, d.ID), &d, schemas.ErrInvalidRegistration, "kind", "id")
	if err != nil {
		return nil, err
	}
	header, err := c.call(ctx, conditional(request{method: http.MethodDelete, path: path}, p), nil, nil)
	if names := header.Get(headerAliases); names != "" {
		aliases = strings.Split(names, ",")
	}
	return aliases, err
}

// Aliases returns the aliases of a record, ordered by name, or schemas.ErrRecordNotFound.
func (c *Client) Aliases(ctx context.Context, key schemas.RecordKey) ([]schemas.Alias, error) {
	var list schemas.AliasList
	err := c.readBelow(ctx, key, "aliases", &list)
	return list.Aliases, err
}

// PutAlias creates or moves an alias. It returns schemas.ErrRecordNotFound without the record or the revision.
func (c *Client) PutAlias(ctx context.Context, p schemas.PutAlias) (stored schemas.AliasStored, err error) {
	path, err := target(aliasPath(p.AliasKey), &p, schemas.ErrInvalidRegistration, "kind", "id", "name", "target")
	if err == nil {
		_, err = c.call(ctx, request{method: http.MethodPut, path: path, idempotent: true}, p.Target, &stored)
	}
	return stored, err
}

// DeleteAlias deletes an alias; it succeeds if there is none.
func (c *Client) DeleteAlias(ctx context.Context, key schemas.AliasKey) error {
	path, err := target(aliasPath(key), &key, schemas.ErrInvalidRegistration, "kind", "id", "name")
	if err == nil {
		_, err = c.call(ctx, deletion(path), nil, nil)
	}
	return err
}

// SearchSkills returns the skills that match q.Query, best first, or
// schemas.ErrSkillNotFound.
func (c *Client) SearchSkills(ctx context.Context, q schemas.SkillQuery) (hits schemas.SkillHits, err error) {
	q.SkillID = ""
	return hits, c.Read(ctx, "/resolve/skill", q, &hits)
}

// Package returns the package of a skill, or schemas.ErrSkillNotFound.
func (c *Client) Package(ctx context.Context, id string, o schemas.QueryOptions) (p schemas.SkillPackage, err error) {
	return p, c.Read(ctx, "/resolve/skill", schemas.SkillQuery{SkillID: id, QueryOptions: o}, &p)
}

// SearchAgent returns the agent that best matches q, or schemas.ErrAgentNotFound.
func (c *Client) SearchAgent(ctx context.Context, q schemas.AgentQuery) (a schemas.AgentAnswer, err error) {
	return a, c.Read(ctx, "/resolve/agent", q, &a)
}

// SearchRecords returns a page of the records that match q, best first; without a match it is empty.
func (c *Client) SearchRecords(ctx context.Context, q schemas.RecordSearch) (page schemas.RecordHits, err error) {
	return page, c.Read(ctx, "/records/search", q, &page)
}

// Tools returns tools by id, and the ids that were not found.
func (c *Client) Tools(ctx context.Context, q schemas.ToolsQuery) (a schemas.ToolsAnswer, err error) {
	return a, c.Read(ctx, "/resolve/tools", q, &a)
}

// ToolClass returns the tools of a class, ordered by id.
func (c *Client) ToolClass(ctx context.Context, q schemas.ToolClassQuery) (a schemas.ToolClassAnswer, err error) {
	return a, c.Read(ctx, "/resolve/tool_class", q, &a)
}

// Template returns a template, rendered if q has variables, or schemas.ErrTemplateNotFound.
func (c *Client) Template(ctx context.Context, q schemas.TemplateQuery) (a schemas.TemplateAnswer, err error) {
	return a, c.Read(ctx, "/resolve/template", q, &a)
}

// WriteTag stores the tag of a request, or returns schemas.ErrTagExists.
func (c *Client) WriteTag(ctx context.Context, t schemas.TagWrite) (w schemas.TagWritten, err error) {
	_, err = c.call(ctx, request{method: http.MethodPost, path: "/tags/write"}, t, &w)
	return w, err
}

// Tag returns the tag of a request, or schemas.ErrTagNotFound.
func (c *Client) Tag(ctx context.Context, key schemas.TagKey) (schemas.Tag, error) {
	var reply schemas.TagFound
	err := c.read(ctx, tagPath(key), &key, &reply, "request_id")
	return reply.Tags, err
}

// DeleteTag deletes the tag of a request; it succeeds if there is none.
func (c *Client) DeleteTag(ctx context.Context, key schemas.TagKey) error {
	path, err := target(tagPath(key), &key, schemas.ErrMalformed, "request_id")
	if err == nil {
		_, err = c.call(ctx, deletion(path), nil, nil)
	}
	return err
}

// Tags returns the tags of a tenant, the earliest first and without their values, of all pages from q.Cursor on.
func (c *Client) Tags(ctx context.Context, q schemas.TagQuery) iter.Seq2[schemas.TagSummary, error] {
	return pages(q.Cursor, func(cursor string) ([]schemas.TagSummary, *string, error) {
		q := q
		q.Cursor = cursor
		var page schemas.TagList
		err := c.read(ctx, "/tags", &q, &page)
		return page.Tags, page.NextCursor, err
	})
}

// Reindex starts to rebuild the shared search index, and is not retried. It returns
// schemas.ErrNotImplemented with the embedded one.
func (c *Client) Reindex(ctx context.Context) (r schemas.Reindexed, err error) {
	_, err = c.call(ctx, request{method: http.MethodPost, path: "/register/reindex", once: true}, schemas.Nothing{}, &r)
	return r, err
}

// Analyze starts an analysis. The caller reads its events to the end, or calls Close.
func (c *Client) Analyze(ctx context.Context, q schemas.Analysis) (*Run, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	res, err := c.do(ctx, request{method: http.MethodPost, path: analyzePath, body: body, stream: true}) //nolint:bodyclose // Run closes it
	if err != nil {
		return nil, err
	}
	return &Run{
		ID: res.Header.Get(headerRun), c: c, ctx: ctx, body: res.Body,
		persist: q.OnDisconnect == schemas.OnDisconnectContinue,
	}, nil
}

// Follow reads the events of a run after the one with the ID; empty: from the first one.
// A server retains them for two minutes. Follow returns schemas.ErrRunNotFound for an
// unknown run, and ErrIncomplete if there are no further events. Closing does not cancel
// the run.
func (c *Client) Follow(ctx context.Context, run, after string) (*Run, error) {
	r := &Run{ID: run, c: c, ctx: ctx, last: after, persist: true}
	return r, r.resume()
}

// CancelRun cancels a run; it succeeds if the run has ended.
func (c *Client) CancelRun(ctx context.Context, run string) error {
	_, err := c.call(ctx, deletion(runPath(run)), nil, nil)
	return err
}

// Runs returns the runs of the credential's tenants, the latest first, of all pages from q.Cursor on: those in
// progress and those of the last day, which can be followed for two minutes after their end.
func (c *Client) Runs(ctx context.Context, q schemas.RunQuery) iter.Seq2[schemas.RunSummary, error] {
	return pages(q.Cursor, func(cursor string) ([]schemas.RunSummary, *string, error) {
		q := q
		q.Cursor = cursor
		var page schemas.RunList
		err := c.read(ctx, "/runs", &q, &page)
		return page.Runs, page.NextCursor, err
	})
}

// Audit returns the entries of the audit log that q selects, the latest first, of all pages from q.Cursor on.
func (c *Client) Audit(ctx context.Context, q schemas.AuditQuery) iter.Seq2[schemas.AuditEntry, error] {
	return pages(q.Cursor, func(cursor string) ([]schemas.AuditEntry, *string, error) {
		q := q
		q.Cursor = cursor
		var page schemas.AuditList
		err := c.read(ctx, "/audit", &q, &page)
		return page.Entries, page.NextCursor, err
	})
}

// Watch returns the changes of records from now on, or after the revision w.After. After a
// lost connection it resumes at the last revision received. It ends without an error when
// ctx ends, and with one when the server refuses the watch or remains unreachable.
func (c *Client) Watch(ctx context.Context, w schemas.Watch) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		for {
			resume, err := c.watch(ctx, &w, yield)
			if ctx.Err() != nil || err == nil && !resume {
				return
			}
			if err != nil {
				yield(Change{}, err)
				return
			}
			if !c.wait(ctx, resumeInterval) {
				return
			}
			c.retries.Add(1)
		}
	}
}

// watch yields the changes of one connection and advances w.After. It reports whether the
// watch continues on another connection.
func (c *Client) watch(ctx context.Context, w *schemas.Watch, yield func(Change, error) bool) (resume bool, err error) {
	path, err := target("/watch", w, schemas.ErrMalformed)
	if err != nil {
		return false, err
	}
	res, err := c.do(ctx, request{method: http.MethodGet, path: path, idempotent: true, stream: true})
	if err != nil {
		return false, err
	}
	defer func(body io.Closer) { _ = body.Close() }(res.Body)
	for e, err := range sse.Read(res.Body, &sse.ReadConfig{MaxEventSize: maxEvent}) {
		if err != nil || e.Type == schemas.EventDone {
			return true, nil //nolint:nilerr // the connection was lost or the server drains: resume
		}
		if e.Type == schemas.EventError {
			var failed schemas.StreamError
			if err := json.Unmarshal([]byte(e.Data), &failed); err != nil {
				return false, fmt.Errorf("decode event %s: %w", e.Type, err)
			}
			return false, failed.Err()
		}
		change := Change{Type: e.Type}
		if err := json.Unmarshal([]byte(e.Data), &change.RecordChange); err != nil {
			return false, fmt.Errorf("decode event %s: %w", e.Type, err)
		}
		if e.Type != schemas.EventWatching && !yield(change, nil) {
			return false, nil
		}
		w.After = change.Revision
	}
	return true, nil
}

// RequestTimeout bounds one attempt of a request other than a stream.
const RequestTimeout = 30 * time.Second

var transport = &http.Transport{MaxIdleConnsPerHost: MaxConnections, IdleConnTimeout: time.Minute,
	Proxy: http.ProxyFromEnvironment}

// retryRate is the maximum number of retries per second of all requests of a Client.
const retryRate = 100

// New returns a Client. It sends no request.
func New(c Config) (*Client, error) {
	edges, err := ParseURLs(c.URL)
	if err != nil {
		return nil, err
	}
	if strings.ContainsFunc(c.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("key: expected one line of visible ASCII characters")
	}
	return &Client{connection{
		edges: edges, key: c.Key, budget: rate.NewLimiter(retryRate, retryRate),
		retryTimeout: cmp.Or(c.RetryTimeout, DefaultRetryTimeout),
	}}, nil
}

// ParseURLs returns the URLs of edges, separated by commas. HOST:PORT means http://HOST:PORT, or
// https:// for port 443.
func ParseURLs(text string) (list []*url.URL, err error) {
	for part := range strings.SplitSeq(text, ",") {
		u, err := parseURL(part)
		if err != nil {
			return nil, err
		}
		list = append(list, u)
	}
	return list, nil
}

func parseURL(text string) (*url.URL, error) {
	full := text
	if !strings.Contains(text, "://") {
		full = "http://" + text
	}
	u, err := url.Parse(full)
	switch {
	case err != nil:
		return nil, fmt.Errorf("url %q: %w", text, errors.Unwrap(err))
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, fmt.Errorf("url %q: expected http://HOST:PORT, https://HOST:PORT or HOST:PORT", text)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("url %q: expected neither a user nor a query nor a fragment", u.Redacted())
	}
	if full != text && u.Port() == "443" {
		u.Scheme = "https"
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	return u, nil
}

// TransportError is a failed connection.
type TransportError struct {
	URL  string
	Dial bool // no connection was established
	Err  error
}

// Error implements error.
func (e *TransportError) Error() string {
	if e.Dial {
		return fmt.Sprintf("cannot connect to Cairn at %s (%v)", e.URL, e.Err)
	}
	return fmt.Sprintf("request to %s: %v", e.URL, e.Err)
}

// Unwrap returns the cause.
func (e *TransportError) Unwrap() error { return e.Err }

// StatusError is an unsuccessful response without an error body of Cairn, for example from a
// proxy.
type StatusError struct {
	StatusCode int
	Host       string
	Status     string // such as "502 Bad Gateway"
	Text       string // the beginning of the body
}

// Error implements error.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s responded with %s, not a Cairn error: %s", e.Host, e.Status, e.Text)
}
