package edge

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/time/rate"

	"cairn/bus"
	"cairn/edge/ard"
	"cairn/edge/describe"
	"cairn/schemas"
)

// Paths of Agentic Resource Discovery. The specification names ai-catalog.json; ard.json is
// the same document.
const (
	catalogPath     = "/.well-known/ai-catalog.json"
	ardPath         = "/.well-known/ard.json"
	skillPath       = "/ard/skills/{skill_id}/SKILL.md"
	tenantSkillPath = "/ard/tenants/{tenant_id}/skills/{skill_id}/SKILL.md"
)

const (
	// manifestEntries and manifestBytes bound the catalog.
	manifestEntries = 1000
	manifestBytes   = 2 << 20
	// manifestTTL is the lifetime of a rendered catalog, so that published records are listed at most
	// once per second.
	manifestTTL     = time.Second
	manifestTimeout = 15 * time.Second // as for any request
	// skillReads and skillBurst bound the requests per second that read skills without a
	// credential, from all addresses together; one address has at most anonymousRate.
	skillReads, skillBurst = 2 * anonymousRate, 2 * anonymousBurst

	maxARDBody      = 256 << 10
	defaultPageSize = 20
	maxListCalls    = 8
)

var (
	mediaMarkdown = []string{"text/markdown; charset=utf-8"}
	cachePublic   = []string{"public, max-age=60"}
	cachePrivate  = []string{"private, max-age=60"}
)

// discovery returns the action with the errors of the specification, and 404 for an edge
// without a publisher.
func discovery(summary string, a action) action {
	answer := a.answer
	a.Summary, a.Group, a.Invalid = summary, "discovery", schemas.ErrMalformed
	a.Failure = func(e *schemas.Error) any { return e.ARD() }
	a.answer = func(x *exchange) error {
		if !x.edge.publisher.Enabled() {
			return schemas.ErrUnknownPath.Because("the catalog is not published; --ard-publisher (CAIRN_ARD_PUBLISHER) names its publisher")
		}
		return answer(x)
	}
	return a
}

// manifest is a rendered catalog.
type manifest struct {
	body []byte
	tag  string
	err  error
}

// catalog returns an action that responds with the catalog of published global records.
func catalog(e *edge) action {
	check := bus.NewCheckFor(manifestTTL, manifestTimeout, func(ctx context.Context) manifest {
		return renderManifest(ctx, e.conn, e.publisher)
	})
	return action{Spec: describe.Spec{Open: true, Reply: reflect.TypeFor[schemas.ARDManifest](), ETag: true}, answer: func(x *exchange) error {
		none, err := entityTags(x, bus.HeaderIfNoneMatch)
		if err != nil {
			return err
		}
		m := check.Result(x.r.Context())
		if m.err != nil {
			return m.err
		}
		h := x.w.Header()
		h["Etag"], h["Cache-Control"] = []string{m.tag}, cachePublic
		if none != "" && schemas.TagsMatch(none, m.tag, true) {
			x.write(http.StatusNotModified, nil, nil)
			return nil
		}
		x.write(http.StatusOK, mediaJSON, m.body)
		return nil
	}}
}

// renderManifest renders the catalog: at most manifestEntries records and manifestBytes.
func renderManifest(ctx context.Context, conn *bus.Conn, publisher ard.Publisher) manifest {
	var entries []schemas.ARDEntry
	size := 0
	l, err := ard.NewListing("", "")
	for err == nil && !l.Done() && len(entries) < manifestEntries && size < manifestBytes {
		q := l.Query(min(schemas.DefaultLimit, manifestEntries-len(entries)))
		var page schemas.RecordList
		if page, err = bus.ListRecords.Call(ctx, conn, q); err != nil {
			break
		}
		for _, entry := range publisher.Entries(q.Kind, page.Records) {
			text, err := json.Marshal(entry)
			if size += len(text); err != nil || size > manifestBytes {
				break
			}
			entries = append(entries, entry)
		}
		l = l.After(page)
	}
	body, encodeErr := json.Marshal(publisher.Manifest(entries), json.Deterministic(true))
	return manifest{body, contentTag(body), errors.Join(err, encodeErr)}
}

// ardTenant returns the tenant of the URL, or else the only tenant of the caller. Workers
// authorize it.
func ardTenant(x *exchange, given string) string {
	if given == "" && x.by.Bound() && len(x.by.Tenants) == 1 {
		return x.by.Tenants[0]
	}
	return given
}

// searchEntries returns an action that answers a search for entries.
func searchEntries() action {
	return action{
		Spec: describe.Spec{
			Permission: schemas.PermissionRead, Request: reflect.TypeFor[schemas.ARDSearch](), Reply: reflect.TypeFor[schemas.ARDResults](),
		},
		answer: func(x *exchange) error {
			tenant, err := tenantParameter(x)
			if err != nil {
				return err
			}
			body, err := x.readBody(maxARDBody)
			if err != nil {
				return err
			}
			req, err := schemas.Decode[schemas.ARDSearch](body, x.spec.Invalid)
			if err != nil {
				return err
			}
			search, err := x.edge.publisher.NewSearch(req, ardTenant(x, tenant))
			if err != nil {
				return err
			}
			var found schemas.RecordHits
			if q, possible := search.Query(); possible {
				if _, err := request(x, bus.SearchRecords.Forward, q, &found); err != nil {
					return err
				}
			}
			return respond(x, search.Results(found))
		},
	}
}

// listEntries returns an action that answers a listing of entries.
func listEntries() action {
	return queryAction(func(x *exchange, req schemas.ARDListQuery) error {
		size := schemas.ValueOr(req.PageSize, defaultPageSize)
		l, err := ard.NewListing(ardTenant(x, schemas.ValueOr(req.TenantID, "")), req.PageToken)
		if err != nil {
			return err
		}
		list := schemas.ARDList{Items: []schemas.ARDEntry{}}
		for calls := 0; len(list.Items) < size && !l.Done() && calls < maxListCalls; calls++ {
			q := l.Query(size - len(list.Items))
			var page schemas.RecordList
			if _, err := request(x, bus.ListRecords.Forward, q, &page); err != nil {
				return err
			}
			list.Items = append(list.Items, x.edge.publisher.Entries(q.Kind, page.Records)...)
			l = l.After(page)
		}
		list.PageToken = l.Token()
		return respond(x, list)
	}, reflect.TypeFor[schemas.ARDList]())
}

// skillFile returns an action that responds with the SKILL.md of a published global skill.
func skillFile() action {
	reads := rate.NewLimiter(skillReads, skillBurst)
	a := queryAction(func(x *exchange, req schemas.ARDSkill) error {
		if !reads.Allow() {
			return schemas.ErrTooManyRequests.Because("rate limit for unauthenticated skill reads exceeded")
		}
		return writeSkillFile(x, schemas.RecordKey{ID: req.SkillID, Scope: schemas.ScopeGlobal}, cachePublic)
	}, nil)
	a.Open, a.Permission, a.ETag, a.Media = true, "", true, mediaMarkdown[0]
	return a
}

// tenantSkillFile returns an action that responds with the SKILL.md of a published skill of
// a tenant.
func tenantSkillFile() action {
	a := queryAction(func(x *exchange, req schemas.ARDTenantSkill) error {
		return writeSkillFile(x, schemas.RecordKey{ID: req.SkillID, TenantID: req.TenantID, Scope: schemas.ScopeTenant}, cachePrivate)
	}, nil)
	a.ETag, a.Media = true, mediaMarkdown[0]
	return a
}

// writeSkillFile responds with the SKILL.md of a skill. Absent and unpublished skills are
// indistinguishable.
func writeSkillFile(x *exchange, key schemas.RecordKey, cache []string) error {
	key.Kind = schemas.KindSkill
	if _, err := entityTags(x, bus.HeaderIfNoneMatch); err != nil {
		return err
	}
	absent := schemas.ErrRecordNotFound.Because("no published skill has this id")
	var record schemas.RecordFound
	reply, err := request(x, bus.GetRecord.Forward, schemas.RecordAt{RecordKey: key}, &record)
	if errors.Is(err, schemas.ErrRecordNotFound) {
		return absent
	}
	if err != nil {
		return err
	}
	text, ok, err := ard.SkillFile(record.Record)
	if err != nil || !ok {
		if err == nil {
			err = absent
		}
		return err
	}
	x.w.Header()["Cache-Control"] = cache
	if x.setETag(reply) {
		x.write(http.StatusNotModified, nil, nil)
		return nil
	}
	x.write(http.StatusOK, mediaMarkdown, text)
	return nil
}

// explore returns an action for the optional aggregation of the specification.
func explore() action {
	return action{Spec: describe.Spec{Permission: schemas.PermissionRead}, answer: func(*exchange) error {
		return schemas.ErrNotImplemented.Because("aggregations are optional in the specification and not implemented")
	}}
}
