package register_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"cairn/bus"
	"cairn/bus/audit"
	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/bus/natsserver"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/embed"
	"cairn/services/internal/index"
	"cairn/services/internal/quota"
	"cairn/services/internal/usage"
	"cairn/services/register"
	"cairn/services/resolve"
	"cairn/test/wait"
)

// serve answers the registration endpoints with a new catalog.
func serve(t testing.TB) (*natsserver.Server, *bus.Conn, *catalog.Catalog) {
	t.Helper()
	server, conn := bustest.Start(t)
	return server, conn, serveLimited(t, conn, quota.Amount{})
}

// serveSearchable is serve with a resolve worker.
func serveSearchable(t testing.TB) (*bus.Conn, *catalog.Catalog) {
	t.Helper()
	server, conn, c := serve(t)
	serveResolve(t, server)
	return conn, c
}

func setupCatalog(t testing.TB, conn *bus.Conn) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Setup(t.Context(), conn.JetStream(), bucket.Replication{Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// serveCatalog answers the registration endpoints with a quota for each tenant.
func serveCatalog(t testing.TB, conn *bus.Conn, deps register.Deps, most quota.Amount) {
	t.Helper()
	counter, err := register.OpenCounter(t.Context(), deps.Catalog, quota.Limit{Amount: most, Things: "records",
		CountFlag: "--tenant-records", BytesFlag: "--tenant-records-size"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(counter.Close)
	deps.Counter = counter
	deps.Referrers = func(ctx context.Context, q schemas.ReferrerQuery) (schemas.ReferrerList, error) {
		return bus.Referrers.Call(ctx, conn, q)
	}
	if err := audit.Setup(t.Context(), conn.JetStream(), bucket.Replication{}, 0); err != nil {
		t.Fatal(err)
	}
	if deps.Audit, err = audit.Open(t.Context(), conn.JetStream()); err != nil {
		t.Fatal(err)
	}
	deps.Entries = audit.StartWriter(conn.JetStream())
	t.Cleanup(func() { deps.Entries.Close(t.Context()) })
	deps.StorageWarnings = func(context.Context) ([]string, error) { return nil, nil }
	if err := register.Serve(bustest.Service(t, conn, "register"), deps); err != nil {
		t.Fatal(err)
	}
}

// serveResolve starts the resolve worker that confirms registrations.
func serveResolve(t testing.TB, server *natsserver.Server) {
	t.Helper()
	conn := bustest.Dial(t, server)
	embedder, err := embed.Open(t.Context(), "lexical:")
	if err != nil {
		t.Fatal(err)
	}
	ix, err := index.Open("embedded:", embedder, "")
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	uses := usage.Start(conn.JetStream())
	t.Cleanup(uses.Close)
	r, err := resolve.Open(t.Context(), resolve.Deps{
		Catalog: setupCatalog(t, conn), Index: ix, Usage: uses, Feed: true, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ix.Close)
	t.Cleanup(r.Close)
	if err := resolve.Serve(bustest.Service(t, conn, "resolve"), r); err != nil {
		t.Fatal(err)
	}
}

// post sends a body as a client does.
type post func(ctx context.Context, c *bus.Conn, body []byte) (bus.Reply, error)

func TestRegister(t *testing.T) {
	t.Parallel()
	_, conn, c := serve(t)
	rows := []struct {
		name   string
		post   post
		body   string
		answer string // without indexed
		key    catalog.Key
		want   string // the record
	}{
		{"a skill is stored with its unknown fields and its domain", bus.RegisterSkill.Forward,
			`{"record":{"skill_id":"net.audit","more":{"big":9007199254740993,"html":"<b>"}}}`, `{"skill_id":"net.audit"}`,
			catalog.Key{Kind: schemas.KindSkill, ID: "net.audit"},
			`{"skill_id":"net.audit","more":{"big":9007199254740993,"html":"<b>"},"domain":"net"}`},
		{"a skill with its domain is stored as it was sent", bus.RegisterSkill.Forward,
			`{"record": {"domain": "net", "skill_id": "net.b"}}`, `{"skill_id":"net.b"}`,
			catalog.Key{Kind: schemas.KindSkill, ID: "net.b"}, `{"domain": "net", "skill_id": "net.b"}`},
		{"a domain of null becomes the default", bus.RegisterSkill.Forward,
			`{"record":{"skill_id":"net.c","domain":null,"tenant_id":null}}`, `{"skill_id":"net.c"}`,
			catalog.Key{Kind: schemas.KindSkill, ID: "net.c"}, `{"skill_id":"net.c","tenant_id":null,"domain":"net"}`},
		{"a record belongs to its tenant", bus.RegisterTool.Forward,
			`{"tool_data":{"tool_id":"p.s.one","tenant_id":"acme"}}`, `{"tool_id":"p.s.one"}`,
			catalog.Key{Kind: schemas.KindTool, Tenant: "acme", ID: "p.s.one"}, `{"tool_id":"p.s.one","tenant_id":"acme"}`},
		{"an agent is stored with the skills it owns", bus.RegisterAgent.Forward,
			`{"agent_data":{"agent_id":"a","skill_ids":["old.one"]},"skill_ids":["net.audit"]}`, `{"agent_id":"a"}`,
			catalog.Key{Kind: schemas.KindAgent, ID: "a"}, `{"agent_id":"a","skill_ids":["net.audit"]}`},
		{"an agent with an empty skill_ids", bus.RegisterAgent.Forward,
			`{"agent_data":{"agent_id":"b","skill_ids":["old.one"]},"skill_ids":[]}`, `{"agent_id":"b"}`,
			catalog.Key{Kind: schemas.KindAgent, ID: "b"}, `{"agent_id":"b","skill_ids":[]}`},
		{"an agent's own skill_ids stay when the request has none", bus.RegisterAgent.Forward,
			`{"agent_data":{"agent_id":"c","skill_ids":["net.audit"]}}`, `{"agent_id":"c"}`,
			catalog.Key{Kind: schemas.KindAgent, ID: "c"}, `{"agent_id":"c","skill_ids":["net.audit"]}`},
		{"a context builder", bus.RegisterContextBuilder.Forward,
			`{"cb_data":{"context_builder_id":"cb"}}`, `{"context_builder_id":"cb"}`,
			catalog.Key{Kind: schemas.KindContextBuilder, ID: "cb"}, `{"context_builder_id":"cb"}`},
		{"a guardrail", bus.RegisterGuardrail.Forward,
			`{"guardrail_data":{"guardrail_id":"g"}}`, `{"guardrail_id":"g"}`,
			catalog.Key{Kind: schemas.KindGuardrail, ID: "g"}, `{"guardrail_id":"g"}`},
		{"a template", bus.RegisterTemplate.Forward,
			`{"template_data":{"template_id":"t"}}`, `{"template_id":"t"}`,
			catalog.Key{Kind: schemas.KindTemplate, ID: "t"}, `{"template_id":"t"}`},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			reply, err := row.post(t.Context(), conn, []byte(row.body))
			if err != nil {
				t.Fatal(err)
			}
			answer := strings.TrimSuffix(row.answer, "}") + `,"indexed":false}` // no resolve worker confirms
			if diff := cmp.Diff(answer, string(reply.Body)); diff != "" {
				t.Errorf("answer differs (-want +got):\n%s", diff)
			}
			e, err := c.Get(t.Context(), row.key)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, string(e.Record)); diff != "" {
				t.Errorf("record differs (-want +got):\n%s", diff)
			}
			if reply.Token.Revision != e.Revision {
				t.Errorf("got revision %d, want %d, the revision of the record", reply.Token.Revision, e.Revision)
			}
		})
	}
}

// TestUnchangedRegistration registers a record again: the history has no equal neighbours.
func TestUnchangedRegistration(t *testing.T) {
	t.Parallel()
	_, conn, _ := serve(t)
	register := func(purpose string) bus.Reply {
		t.Helper()
		reply, err := bus.RegisterSkill.Forward(t.Context(), conn,
			fmt.Appendf(nil, `{"record":{"skill_id":"net.a","purpose":%q}}`, purpose))
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	rows := []struct {
		name, purpose string
		unchanged     bool
	}{
		{"a new record", "one", false},
		{"the same record", "one", true},
		{"another record", "two", false},
		{"an earlier record", "one", false},
		{"the same record again", "one", true},
	}
	var before uint64
	for _, row := range rows {
		reply := register(row.purpose)
		if got := strings.Contains(string(reply.Body), `"unchanged":true`); got != row.unchanged {
			t.Errorf("%s: got %s, want unchanged %t", row.name, reply.Body, row.unchanged)
		}
		if (reply.Token.Revision == before) != row.unchanged {
			t.Errorf("%s: got revision %d after %d", row.name, reply.Token.Revision, before)
		}
		before = reply.Token.Revision
	}
	line := jsontext.Value(`{"kind":"skill","id":"net.a","record":{"skill_id":"net.a","purpose":"one","domain":"net"}}`)
	bulk, err := bus.PutRecords.Call(t.Context(), conn, schemas.PutRecords{Records: []jsontext.Value{line, line}})
	if err != nil {
		t.Fatal(err)
	}
	for i, result := range bulk.Results {
		if !result.Unchanged || result.Error != nil {
			t.Errorf("line %d of a bulk request: %+v", i, result)
		}
	}
	deleted := schemas.Unregister{Kind: schemas.KindSkill, ID: "net.a"}
	if _, err := bus.Unregister.Call(t.Context(), conn, deleted); err != nil {
		t.Fatal(err)
	}
	if reply := register("one"); strings.Contains(string(reply.Body), "unchanged") {
		t.Errorf("after the deletion: got %s", reply.Body)
	}
}

func TestInvalidRegistration(t *testing.T) {
	t.Parallel()
	_, conn, _ := serve(t)
	long := strings.Repeat("🙂", 256)
	rows := []struct {
		name  string
		post  post
		body  string
		field string
	}{
		{"a skill without an id", bus.RegisterSkill.Forward, `{"record":{}}`, "record.skill_id"},
		{"no record", bus.RegisterSkill.Forward, `{}`, "record.skill_id"},
		{"a record of null", bus.RegisterSkill.Forward, `{"record":null}`, "record.skill_id"},
		{"a skill id of one segment", bus.RegisterSkill.Forward, `{"record":{"skill_id":"net"}}`, "record.skill_id"},
		{"a domain that differs from the id's first segment", bus.RegisterSkill.Forward,
			`{"record":{"skill_id":"net.a","domain":"x"}}`,
			"record.domain"},
		{"capabilities that are not an array", bus.RegisterSkill.Forward,
			`{"record":{"skill_id":"net.a","capabilities":"x"}}`,
			"record.capabilities"},
		{"the reserved tenant", bus.RegisterSkill.Forward, `{"record":{"skill_id":"net.a","tenant_id":"_global"}}`,
			"record.tenant_id"},
		{"a tool id of two segments", bus.RegisterTool.Forward, `{"tool_data":{"tool_id":"a.b"}}`, "tool_data.tool_id"},
		{"an empty id among an agent's skills", bus.RegisterAgent.Forward, `{"agent_data":{"agent_id":"a"},"skill_ids":[""]}`,
			"skill_ids[0]"},
		{"an unknown kind", bus.Unregister.Forward, `{"kind":"playbook","id":"a"}`, "kind"},
		{"a deletion of an id with an empty segment", bus.Unregister.Forward, `{"kind":"skill","id":"a..b"}`, "id"},
		{"an array", bus.RegisterTemplate.Forward, `[]`, "body"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := row.post(t.Context(), conn, []byte(row.body))
			var e *schemas.Error
			if !errors.Is(err, schemas.ErrInvalidRegistration) || !errors.As(err, &e) || len(e.Fields) == 0 ||
				e.Fields[0].Field != row.field {
				t.Errorf("got %v, want %v naming %s", err, schemas.ErrInvalidRegistration, row.field)
			}
		})
	}
	t.Run("ids of maximum length", func(t *testing.T) {
		t.Parallel()
		body := `{"guardrail_data":{"guardrail_id":"` + long + `","tenant_id":"` + long + `"}}`
		if _, err := bus.RegisterGuardrail.Forward(t.Context(), conn, []byte(body)); err != nil {
			t.Error(err)
		}
	})
}

func TestUnregister(t *testing.T) {
	t.Parallel()
	conn, _ := serveSearchable(t)
	put := func(purpose string) {
		t.Helper()
		body := `{"record":{"skill_id":"net.audit","purpose":"` + purpose + `"}}`
		if _, err := bus.RegisterSkill.Forward(t.Context(), conn, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	find := func() error {
		_, err := bus.ResolveSkill.Call(t.Context(), conn, schemas.SkillQuery{SkillID: "net.audit"})
		return err
	}
	remove := func() {
		t.Helper()
		answer, err := bus.Unregister.Call(t.Context(), conn, schemas.Unregister{Kind: schemas.KindSkill, ID: "net.audit"})
		if err != nil || answer.Indexed != nil {
			t.Fatalf("unregister: got %+v, %v", answer, err)
		}
	}
	remove() // an absent one
	put("one")
	remove()
	if err := find(); !errors.Is(err, schemas.ErrSkillNotFound) {
		t.Errorf("after it was removed: got %v, want %v", err, schemas.ErrSkillNotFound)
	}
	remove()
	put("two")
	if err := find(); err != nil {
		t.Errorf("after it was registered again: %v", err)
	}
}

func TestRegisterIsSearchable(t *testing.T) {
	t.Parallel()
	conn, _ := serveSearchable(t)
	for _, purpose := range []string{"water the plants", "feed the cat", "water the plants"} {
		body := `{"record":{"skill_id":"home.chore","purpose":"` + purpose + `"}}`
		reply, err := bus.RegisterSkill.Forward(t.Context(), conn, []byte(body))
		if err != nil || string(reply.Body) != `{"skill_id":"home.chore"}` {
			t.Fatalf("register: got %s, %v, want an indexed record", reply.Body, err)
		}
		answer, err := bus.ResolveSkill.Call(t.Context(), conn, schemas.SkillQuery{Query: purpose})
		if err != nil || !strings.Contains(string(answer.Hits.Skills[0]), purpose) {
			t.Errorf("search %q: got %v, %v", purpose, answer.Hits, err)
		}
	}
}

func TestRegisterWithoutResolveWorker(t *testing.T) {
	t.Parallel()
	_, conn, _ := serve(t)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second) // shorter than the wait for a resolve worker
	defer cancel()
	got, err := bus.RegisterTool.Call(ctx, conn, schemas.RegisterTool{
		ToolData: schemas.Record[schemas.Tool]{Fields: schemas.Tool{ToolID: "p.s.one"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Indexed == nil || *got.Indexed {
		t.Errorf("got %+v, want indexed to be false", got)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	server, conn, _ := serve(t)
	health := func() schemas.Health {
		t.Helper()
		h, err := bus.Health("register").Call(t.Context(), conn, schemas.Nothing{})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	if h := health(); h.Status != schemas.StatusDegraded || len(h.Degraded) != 1 {
		t.Errorf("without a search worker: got %+v, want one reason", h)
	}
	serveResolve(t, server)
	wait.Until(t, "the status is ok with a search worker", func() bool { return health().Status == schemas.StatusOK })
	if h := health(); h.Service != "register" {
		t.Errorf("got the health of %q", h.Service)
	}
}
