package edge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/time/rate"

	"cairn/bus"
	"cairn/edge/ard"
	"cairn/edge/describe"
	"cairn/edge/registry"
	"cairn/schemas"
)

// Paths of discovery. The specification of Agentic Resource Discovery names ai-catalog.json; ard.json is
// the same document.
const (
	// registryPath is the path of the API of MCP registries; clients append the rest.
	registryPath = "/v0.1/servers"

	catalogPath     = "/.well-known/ai-catalog.json"
	ardPath         = "/.well-known/ard.json"
	skillPath       = "/ard/skills/{skill_id}/SKILL.md"
	tenantSkillPath = "/ard/tenants/{tenant_id}/skills/{skill_id}/SKILL.md"
)

const (
	// manifestTTL is the lifetime of a rendered catalog, so that published records are listed at most
	// once per second.
	manifestTTL     = time.Second
	manifestTimeout = 15 * time.Second // as for any request
	// skillReads and skillBurst bound the requests per second that read skills without a
	// credential, from all addresses together; one address has at most anonymousRate.
	skillReads, skillBurst = 2 * anonymousRate, 2 * anonymousBurst

	maxARDBody = 256 << 10
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
			return schemas.ErrUnknownPath.Because(
				"the catalog is not published; --ard-publisher (CAIRN_ARD_PUBLISHER) names its publisher")
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
		body, err := e.publisher.Catalog(func(q schemas.RecordQuery) (schemas.RecordList, error) {
			return bus.ListRecords.Call(ctx, e.conn, q)
		})
		return manifest{body, contentTag(body), err}
	})
	return action{Spec: describe.Spec{Open: true, Reply: reflect.TypeFor[schemas.ARDManifest](), ETag: true},
		answer: func(x *exchange) error {
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

// ardTenant returns the tenant of the URL, or else the only tenant of the caller. Workers
// authorize it.
func ardTenant(x *exchange, given string) string {
	if given == "" && x.caller.Bound() && len(x.caller.Tenants) == 1 {
		return x.caller.Tenants[0]
	}
	return given
}

// searchEntries returns an action that answers a search for entries.
func searchEntries() action {
	return action{
		Spec: describe.Spec{
			Permission: schemas.PermissionRead, Request: reflect.TypeFor[schemas.ARDSearch](),
			Reply: reflect.TypeFor[schemas.ARDResults](),
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
			results, err := x.edge.publisher.Search(records{x}.search, ardTenant(x, tenant), req)
			if err != nil {
				return err
			}
			return respond(x, results)
		},
	}
}

// listEntries returns an action that answers a listing of entries.
func listEntries() action {
	return queryAction(func(x *exchange, req schemas.ARDListQuery) error {
		list, err := x.edge.publisher.List(records{x}.list, ardTenant(x, schemas.ValueOr(req.TenantID, "")), req)
		if err != nil {
			return err
		}
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
	a.Open, a.Permission, a.Media = true, "", mediaMarkdown[0]
	return withETag(a)
}

// tenantSkillFile returns an action that responds with the SKILL.md of a published skill of
// a tenant.
func tenantSkillFile() action {
	a := queryAction(func(x *exchange, req schemas.ARDTenantSkill) error {
		return writeSkillFile(x, schemas.RecordKey{ID: req.SkillID, TenantID: req.TenantID, Scope: schemas.ScopeTenant},
			cachePrivate)
	}, nil)
	a.Media = mediaMarkdown[0]
	return withETag(a)
}

// writeSkillFile responds with the SKILL.md of a skill. Absent and unpublished skills are
// indistinguishable.
func writeSkillFile(x *exchange, key schemas.RecordKey, cache []string) error {
	key.Kind = schemas.KindSkill
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

// registryAction returns an action whose request is in the URL, and whose reply is computed from
// listings of tools.
func registryAction[Req, Res any](summary string, answer func(registry.Source, Req) (Res, error)) action {
	a := queryAction(func(x *exchange, req Req) error {
		res, err := answer(records{x}, req)
		if err != nil {
			return err
		}
		return respond(x, res)
	}, reflect.TypeFor[Res]())
	a.Summary, a.Invalid = summary, schemas.ErrMalformed
	return a
}

// agentCard returns an action that responds with the agent card of a registered agent, as
// it was registered.
func agentCard() action {
	a := queryAction(func(x *exchange, key schemas.AgentKey) error {
		var agent struct {
			ID   string         `json:"agent_id"`
			Card jsontext.Value `json:"agent_card"`
		}
		record := schemas.RecordKey{Kind: schemas.KindAgent, ID: key.ID, TenantID: key.TenantID, Scope: key.Scope}
		reply, err := request(x, bus.GetRecord.Forward, schemas.RecordAt{RecordKey: record}, &agent)
		if err != nil {
			return err
		}
		if agent.Card.Kind() != jsontext.KindBeginObject {
			return schemas.ErrRecordNotFound.Because(fmt.Sprintf("the agent %q has no agent_card", agent.ID))
		}
		reply.Body = agent.Card
		x.reply(reply)
		return nil
	}, reflect.TypeFor[schemas.AgentCard]())
	a.Permission, a.Summary, a.Invalid = bus.GetRecord.Permission, "The agent card (A2A) of a registered agent",
		bus.GetRecord.Invalid
	return a
}

// records reads records for the client of a request.
type records struct{ *exchange }

// Tools implements registry.Source.
func (r records) Tools(q schemas.ListQuery) (page schemas.ToolList, err error) {
	_, err = request(r.exchange, bus.ListTools.Forward, q, &page)
	return page, err
}

// History implements registry.Source.
func (r records) History(key schemas.RecordKey) (history schemas.RecordHistory, err error) {
	_, err = request(r.exchange, bus.RecordHistory.Forward, key, &history)
	if errors.Is(err, schemas.ErrRecordNotFound) { // deleted since
		err = nil
	}
	return history, err
}

func (r records) list(q schemas.RecordQuery) (page schemas.RecordList, err error) {
	_, err = request(r.exchange, bus.ListRecords.Forward, q, &page)
	return page, err
}

func (r records) search(q schemas.RecordSearch) (hits schemas.RecordHits, err error) {
	_, err = request(r.exchange, bus.SearchRecords.Forward, q, &hits)
	return hits, err
}
