// Package ard translates Agentic Resource Discovery
// (github.com/ards-project/ard-spec, v0.9) to listings and searches of published records.
// An entry of the catalog is a skill, an agent with a card, or a tool with the server.json
// of an MCP server.
package ard

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
	"cairn/schemas/skillfile"
)

// Media types of artifacts.
const (
	typeSkill    = "application/ai-skill+md"
	typeAgent    = "application/a2a-agent-card+json"
	typeServer   = "application/mcp-server-card+json"
	typeRegistry = "application/ai-registry+json"
)

// resource is a kind of records that are entries, with its media type and its name in
// identifiers.
type resource struct{ kind, media, name string }

// resources are in the order of the catalog.
var resources = []resource{
	{schemas.KindAgent, typeAgent, "agent"},
	{schemas.KindTool, typeServer, "server"},
	{schemas.KindSkill, typeSkill, "skill"},
}

// Publisher is the publisher of a catalog. The zero value publishes nothing.
type Publisher struct {
	domain string // of identifiers
	base   string // URL of the edge, without a slash at its end
}

var domainName = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// NewPublisher returns the publisher with the fully qualified domain name. base is the URL
// under which clients reach the edge; empty: https:// and the domain.
func NewPublisher(domain, base string) (Publisher, error) {
	domain = strings.ToLower(domain)
	if _, err := netip.ParseAddr(domain); err == nil || len(domain) > 253 || !domainName.MatchString(domain) {
		return Publisher{}, fmt.Errorf("%.100q: expected a fully qualified domain name such as example.com", domain)
	}
	base = cmp.Or(base, "https://"+domain)
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		return Publisher{}, errors.New("expected a URL such as https://cairn.example.com, without user, query and fragment")
	}
	return Publisher{domain, strings.TrimRight(base, "/")}, nil
}

// Enabled reports whether the publisher publishes.
func (p Publisher) Enabled() bool { return p.domain != "" }

// source is the URL of the registry; clients append search and agents.
func (p Publisher) source() string { return p.base + "/" }

// Manifest returns the catalog of the entries, after the entry of the registry itself.
func (p Publisher) Manifest(entries []schemas.ARDEntry) schemas.ARDManifest {
	return schemas.ARDManifest{
		SpecVersion: "1.0",
		Host:        schemas.ARDHost{DisplayName: p.domain, Identifier: p.domain, DocumentationURL: p.base + "/docs"},
		Entries: append([]schemas.ARDEntry{{
			Identifier:  "urn:air:" + p.domain + ":registry:cairn",
			DisplayName: "Cairn",
			Type:        typeRegistry,
			URL:         p.source(),
			Description: "Search for the skills, agents and MCP servers of " + p.domain + ".",
			Tags:        []string{"registry", "search"},
		}}, entries...),
	}
}

// SkillURL returns the URL of the SKILL.md of a skill; an empty tenant is the global scope.
func (p Publisher) SkillURL(tenant, id string) string {
	location := p.base + "/ard"
	if tenant != "" {
		location += "/tenants/" + url.PathEscape(tenant)
	}
	return location + "/skills/" + url.PathEscape(id) + "/" + skillfile.FileName
}

// SkillFile returns the SKILL.md of a skill record, or false if it is not published.
func SkillFile(record jsontext.Value) (text []byte, ok bool, err error) {
	if _, ok := schemas.Published(schemas.KindSkill, record); !ok {
		return nil, false, nil
	}
	s, err := schemas.DecodeStored[schemas.Skill](schemas.KindSkill, record)
	if err != nil {
		return nil, false, err
	}
	text, err = skillfile.Export(s, record, skillfile.NameOf(s.SkillID, record))
	return text, true, err
}

// fields are the fields of a record that its entry includes.
type fields struct {
	id, name, description, domain string
	tenant                        *string
	capabilities, queries         []string
	schemas.Metadata
}

func read(kind string, record jsontext.Value) (fields, error) {
	switch kind {
	case schemas.KindSkill:
		s, err := schemas.DecodeStored[schemas.Skill](kind, record)
		return fields{s.SkillID, s.DisplayName, cmp.Or(s.Description, s.Purpose), s.Domain, s.TenantID,
			s.Capabilities, s.ExampleQueries, s.Metadata}, err
	case schemas.KindAgent:
		a, err := schemas.DecodeStored[schemas.Agent](kind, record)
		return fields{a.AgentID, a.DisplayName, cmp.Or(a.Description, a.Purpose), a.Domain, a.TenantID,
			a.Capabilities, a.ExampleQueries, a.Metadata}, err
	default:
		t, err := schemas.DecodeStored[schemas.Tool](kind, record)
		return fields{t.ToolID, t.DisplayName, cmp.Or(t.Description, t.Purpose), t.Domain, t.TenantID,
			t.Capabilities, t.ExampleQueries, t.Metadata}, err
	}
}

// Entry returns the entry of a record, or false if the record is not published.
func (p Publisher) Entry(kind string, record jsontext.Value) (schemas.ARDEntry, bool) {
	artifact, ok := schemas.Published(kind, record)
	f, err := read(kind, record)
	if !ok || err != nil {
		return schemas.ARDEntry{}, false
	}
	tenant := schemas.ValueOr(f.tenant, "")
	index := slices.IndexFunc(resources, func(k resource) bool { return k.kind == kind })
	e := schemas.ARDEntry{
		Identifier: p.identifier(resources[index].name, tenant, f.id), DisplayName: cmp.Or(f.name, f.id),
		Type: resources[index].media,
		Data: artifact, Description: f.description, Capabilities: f.capabilities, Version: f.Version, Metadata: f.Labels,
	}
	if artifact == nil {
		e.URL = p.SkillURL(tenant, f.id)
	}
	if f.domain != "" {
		e.Tags = []string{f.domain}
	}
	if f.Status == schemas.StatusDeprecated {
		e.Status = f.Status
	}
	if len(f.queries) >= 2 { // the schema requires 2 to 5
		e.RepresentativeQueries = f.queries[:min(5, len(f.queries))]
	}
	return e, true
}

// Entries returns the entries of records of the kind.
func (p Publisher) Entries(kind string, records []jsontext.Value) (entries []schemas.ARDEntry) {
	for _, record := range records {
		if e, ok := p.Entry(kind, record); ok {
			entries = append(entries, e)
		}
	}
	return entries
}

// NewSearch returns the search that a request describes, in the tenant's scope and the
// global one; an empty tenant is the global scope alone. It returns schemas.ErrMalformed
// for a filter that is not supported and for the page token of another query.
func (p Publisher) NewSearch(r schemas.ARDSearch, tenant string) (Search, error) {
	s := Search{publisher: p, request: r, query: schemas.RecordSearch{
		Query: r.Query.Text, Filter: schemas.Filter{Public: true}, Limit: r.PageSize,
		QueryOptions: schemas.QueryOptions{TenantID: schemas.Optional(tenant)},
	}}
	var wrong []schemas.FieldError
	for _, path := range slices.Sorted(maps.Keys(r.Query.Filter)) {
		if !s.restrict(path, r.Query.Filter[path]) {
			wrong = append(wrong, schemas.FieldError{Field: "query.filter." + path,
				Message: "not supported; expected identifier, displayName, " +
					"type, publisher, tags, capabilities, version, status or metadata. with the name of a label"})
		}
	}
	if len(wrong) > 0 {
		return s, schemas.ErrMalformed.With(wrong...)
	}
	text, err := json.Marshal([]any{r.Query, tenant}, json.Deterministic(true))
	if err != nil {
		return s, err
	}
	sum := sha256.Sum256(text)
	s.digest = hex.EncodeToString(sum[:8])
	if s.query.Offset, err = s.offset(r.PageToken); err != nil {
		return s, err
	}
	return s, nil
}

// identifier returns the identifier of a record, with the name of its kind:
//
//	urn:air:example.com:skill:network.show_vlans
//	urn:air:example.com:tenant:acme:server:com.example.tickets
func (p Publisher) identifier(name, tenant, id string) string {
	urn := prefix + p.domain
	if tenant != "" {
		urn += ":" + tenants + ":" + escape(tenant)
	}
	return urn + ":" + name + ":" + escape(id)
}

// parse returns the record with the identifier, or false for an identifier of another publisher.
func (p Publisher) parse(urn string) (s subject, ok bool) {
	rest, ok := strings.CutPrefix(urn, prefix+p.domain+":")
	parts := strings.Split(rest, ":")
	if ok && len(parts) == 4 && parts[0] == tenants {
		s.tenant = unescape(parts[1])
		ok, parts = s.tenant != "", parts[2:]
	}
	if !ok || len(parts) != 2 {
		return s, false
	}
	index := slices.IndexFunc(resources, func(k resource) bool { return k.name == parts[0] })
	if index < 0 {
		return s, false
	}
	s.kind, s.id = resources[index].kind, unescape(parts[1])
	return s, p.identifier(resources[index].name, s.tenant, s.id) == urn
}

const (
	// catalogEntries and catalogBytes bound the catalog.
	catalogEntries = 1000
	catalogBytes   = 2 << 20

	defaultPageSize = 20
	maxListCalls    = 8 // of a page
)

// Lister lists published records.
type Lister func(schemas.RecordQuery) (schemas.RecordList, error)

// Catalog returns the catalog of global entries as JSON: at most catalogEntries and catalogBytes. After an error
// of list it has the entries before the error.
func (p Publisher) Catalog(list Lister) ([]byte, error) {
	var entries []schemas.ARDEntry
	size := 0
	l, err := NewListing("", "")
	for err == nil && !l.Done() && len(entries) < catalogEntries && size < catalogBytes {
		q := l.Query(min(schemas.DefaultLimit, catalogEntries-len(entries)))
		var page schemas.RecordList
		if page, err = list(q); err != nil {
			break
		}
		for _, entry := range p.Entries(q.Kind, page.Records) {
			text, err := json.Marshal(entry)
			if size += len(text); err != nil || size > catalogBytes {
				break
			}
			entries = append(entries, entry)
		}
		l = l.After(page)
	}
	body, encodeErr := json.Marshal(p.Manifest(entries), json.Deterministic(true))
	return body, errors.Join(err, encodeErr)
}

// List returns a page of the entries of the tenant and of global ones.
func (p Publisher) List(list Lister, tenant string, req schemas.ARDListQuery) (schemas.ARDList, error) {
	size := schemas.ValueOr(req.PageSize, defaultPageSize)
	page := schemas.ARDList{Items: []schemas.ARDEntry{}}
	l, err := NewListing(tenant, req.PageToken)
	if err != nil {
		return page, err
	}
	for calls := 0; len(page.Items) < size && !l.Done() && calls < maxListCalls; calls++ {
		q := l.Query(size - len(page.Items))
		records, err := list(q)
		if err != nil {
			return page, err
		}
		page.Items = append(page.Items, p.Entries(q.Kind, records.Records)...)
		l = l.After(records)
	}
	page.PageToken = l.Token()
	return page, nil
}

// Listing is a position in the listing of all entries, which are ordered by kind, the tenant's
// before global ones.
type Listing struct {
	tenant string // empty: global entries alone
	kind   int    // in resources; len(resources): after the last entry
	scope  string
	cursor string
}

// NewListing returns the position of a page token, or the first position if it is empty. It returns
// schemas.ErrMalformed for an invalid token.
func NewListing(tenant, token string) (Listing, error) {
	l := Listing{tenant: tenant, scope: schemas.ScopeOf(tenant)}
	if token == "" {
		return l, nil
	}
	parts := strings.SplitN(token, ".", 3)
	if len(parts) == 3 {
		l.kind = slices.IndexFunc(resources, func(k resource) bool { return k.name == parts[0] })
		l.scope, l.cursor = parts[1], parts[2]
		if l.kind >= 0 && (l.scope == schemas.ScopeGlobal || l.scope == schemas.ScopeOf(tenant)) {
			return l, nil
		}
	}
	return l, schemas.ErrMalformed.With(schemas.FieldError{Field: "pageToken",
		Message: "expected the unmodified pageToken of a page"})
}

// Done reports whether the listing is complete.
func (l Listing) Done() bool { return l.kind == len(resources) }

// Token returns the page token of the position; empty when Done.
func (l Listing) Token() string {
	if l.Done() {
		return ""
	}
	return resources[l.kind].name + "." + l.scope + "." + l.cursor
}

// Query returns the listing of at most limit records from the position on.
func (l Listing) Query(limit int) schemas.RecordQuery {
	return schemas.RecordQuery{
		Kind: resources[l.kind].kind, TenantID: schemas.Optional(l.tenant), Scope: l.scope, Public: true, Limit: &limit,
		Cursor: l.cursor,
	}
}

// After returns the position after the page of the listing.
func (l Listing) After(page schemas.RecordList) Listing {
	switch {
	case page.NextCursor != nil:
		l.cursor = *page.NextCursor
		return l
	case l.scope == schemas.ScopeTenant:
		l.scope, l.cursor = schemas.ScopeGlobal, ""
	default:
		l.kind, l.scope, l.cursor = l.kind+1, schemas.ScopeOf(l.tenant), ""
	}
	return l
}

// Search is a search for entries.
type Search struct {
	publisher  Publisher
	request    schemas.ARDSearch
	query      schemas.RecordSearch
	ids        []string // accepted identifiers; nil: all
	digest     string   // of the query, in page tokens
	impossible bool     // no entry satisfies the filter
}

// Search returns the entries of the tenant, and global ones, that match the request.
func (p Publisher) Search(find func(schemas.RecordSearch) (schemas.RecordHits, error), tenant string,
	r schemas.ARDSearch) (
	schemas.ARDResults, error,
) {
	search, err := p.NewSearch(r, tenant)
	if err != nil {
		return schemas.ARDResults{}, err
	}
	var hits schemas.RecordHits
	if query, possible := search.Query(); possible {
		if hits, err = find(query); err != nil {
			return schemas.ARDResults{}, err
		}
	}
	return search.Results(hits), nil
}

// metadata is the path of labels in a filter, before the name.
const metadata = "metadata."

// restrict adds the values of a path of the filter. It reports whether the path is supported.
func (s *Search) restrict(path string, values []string) bool {
	switch path {
	case "type":
		s.keepKinds(func(kind, media string) bool { return slices.Contains(values, media) })
	case "publisher":
		s.impossible = s.impossible || !slices.ContainsFunc(values, func(v string) bool {
			return strings.EqualFold(v, s.publisher.domain)
		})
	case "identifier":
		s.identified(values)
	case "displayName":
		s.query.Any.DisplayNames = values
	case "version":
		s.query.Any.Versions = values
	case "status":
		s.query.Any.Statuses = values
	case "capabilities":
		s.query.Any.Capabilities = values
	case "tags":
		s.query.Any.Domains = values
	default:
		name, ok := strings.CutPrefix(path, metadata)
		if !ok || name == "" {
			return false
		}
		terms := make([]string, len(values))
		for i, value := range values {
			terms[i] = name + "=" + value
		}
		s.query.Any.Labels = append(s.query.Any.Labels, terms)
	}
	return true
}

// keepKinds removes the kinds for which keep returns false.
func (s *Search) keepKinds(keep func(kind, media string) bool) {
	var left []string
	for _, k := range resources {
		if (s.query.Kinds == nil || slices.Contains(s.query.Kinds, k.kind)) && keep(k.kind, k.media) {
			left = append(left, k.kind)
		}
	}
	s.query.Kinds, s.impossible = left, s.impossible || len(left) == 0
}

// identified restricts the search to the records of the identifiers.
func (s *Search) identified(urns []string) {
	var named []string
	for _, urn := range urns {
		if record, ok := s.publisher.parse(urn); ok {
			named = append(named, record.kind)
			s.query.Any.IDs = append(s.query.Any.IDs, record.id)
		}
	}
	s.ids = urns
	s.keepKinds(func(kind, _ string) bool { return slices.Contains(named, kind) })
}

// Query returns the search of records, or false if it finds nothing.
func (s Search) Query() (schemas.RecordSearch, bool) { return s.query, !s.impossible }

// offset returns the offset of a page token.
func (s Search) offset(token string) (int, error) {
	if token == "" {
		return 0, nil
	}
	digits, digest, _ := strings.Cut(token, ".")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || n > schemas.MaxSearchOffset || digest != s.digest || strconv.Itoa(n) != digits {
		return 0, schemas.ErrMalformed.With(schemas.FieldError{
			Field: "pageToken", Message: "expected the unmodified pageToken of a page of the same query",
		})
	}
	return n, nil
}

// Results returns the page of entries for the records that were found.
func (s Search) Results(hits schemas.RecordHits) schemas.ARDResults {
	page := schemas.ARDResults{Results: []schemas.ARDResult{}}
	for _, h := range hits.Hits {
		e, ok := s.publisher.Entry(h.Kind, h.Record)
		if !ok || s.ids != nil && !slices.Contains(s.ids, e.Identifier) {
			continue
		}
		page.Results = append(page.Results, schemas.ARDResult{
			ARDEntry: e, Score: int(math.Round(100 * min(1, max(0, h.Score)))), Source: s.publisher.source(),
		})
	}
	if s.request.Federation == schemas.FederationReferrals {
		page.Referrals = []schemas.ARDEntry{}
	}
	if hits.NextOffset != nil {
		page.PageToken = strconv.Itoa(*hits.NextOffset) + "." + s.digest
	}
	return page
}
