package test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/bus/keys"
	"cairn/edge/access"
	"cairn/schemas"
)

// mint makes an API key.
func (s *system) mint(role schemas.Role, tenants ...string) (string, error) {
	_, key, err := s.makeKey(keys.Key{Role: role, Tenants: tenants})
	return key, err
}

func (s *system) makeKey(k keys.Key) (keys.Key, string, error) {
	var secret string
	err := s.withKeys(func(ctx context.Context, store *keys.Store) (err error) {
		k, secret, err = store.Create(ctx, k)
		return err
	})
	return k, secret, err
}

// withKeys does something with the keys, as the command line does.
func (s *system) withKeys(do func(context.Context, *keys.Store) error) error {
	conn, err := s.server.Open("test-keys")
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	store, err := keys.Open(ctx, conn)
	if err != nil {
		return err
	}
	return do(ctx, store)
}

// known is the client of somebody else.
func (c *client) known(t testing.TB, role schemas.Role, tenants ...string) *client {
	t.Helper()
	for i, tenant := range tenants {
		tenants[i] = c.named(tenant)
	}
	key, err := c.mint(role, tenants...)
	if err != nil {
		t.Fatal(err)
	}
	return c.with(key)
}

func (c *client) with(key string) *client {
	other := *c
	other.key = key
	return &other
}

func TestCallersAreAskedWhoTheyAre(t *testing.T) {
	everywhere(t, guarded, func(t *testing.T, c *client) {
		for _, o := range routesOf(t, c) {
			if o.Security == nil {
				continue
			}
			want := "CE-006"
			if strings.HasPrefix(o.path, "/api/") {
				want = "AN-401"
			}
			for name, who := range map[string]*client{"no key": c.with(""), "a wrong secret": c.with(c.key + "x"), "an unknown key": c.with("cairn_a_b"), "another token": c.with("e30.e30.e30")} {
				a := who.ask(t, o.request(), `{}`)
				a.expect(t, 401, want, "")
				if a.header.Get("WWW-Authenticate") == "" {
					t.Errorf("%s with %s: nothing says how to be known", o.request(), name)
				}
			}
		}
		for _, open := range []string{"GET /health", "GET /openapi.json", "GET /docs"} {
			if a := c.with("").ask(t, open, ""); a.status != 200 {
				t.Errorf("%s: %d, want it for everybody", open, a.status)
			}
		}
	})
}

// Each role may ask what the interface says, and nothing else.
func TestRolesOverHTTP(t *testing.T) {
	everywhere(t, guarded, func(t *testing.T, c *client) {
		may := map[schemas.Role]string{
			schemas.RoleReader: "read", schemas.RoleRegistrar: "read tag register",
			schemas.RoleAnalyst: "read tag analyze", schemas.RoleAdmin: "read tag register analyze",
		}
		for _, role := range schemas.Roles() {
			who := c.known(t, role, "$")
			for _, o := range routesOf(t, c) {
				if o.Security == nil {
					continue
				}
				a := who.ask(t, o.request(), `{}`) // whoever may ask learns that this is malformed, or not found
				refused := a.status == 403
				if allowed := slices.Contains(strings.Fields(may[role]), o.Security[0]["bearer"][0]); allowed == refused {
					t.Errorf("%s %s as a %s: %d %s", o.method, o.path, role, a.status, brief(a.body))
				}
			}
		}
	})
}

func TestTenantOfACredential(t *testing.T) {
	everywhere(t, guarded, func(t *testing.T, c *client) {
		const skill, own = `{"record":{"skill_id":"$.mine"}}`, `{"skill_id":"$.mine"}`
		acme := c.known(t, schemas.RoleRegistrar, "$")
		acme.rows(t, []row{
			{"without a tenant, its own is meant", "POST /register/skill", skill, 200, "", own},
			{"and found", "POST /resolve/skill", own, 200, "", `{"manifest":{"skill_id":"$.mine","tenant_id":"$"}}`},
			{"another one's is refused", "POST /register/skill", `{"record":{"skill_id":"$.x","tenant_id":"$2"}}`, 403, "CE-007 record.tenant_id", ""},
			{"and so is everybody's", "POST /register/skill", `{"record":{"skill_id":"$.x","tenant_id":null}}`, 403, "CE-007 record.tenant_id", ""},
			{"it removes its own", "DELETE /register/skill/$.mine", "", 204, "", ""},
			{"not another one's", "DELETE /register/skill/$.mine?tenant_id=$2", "", 403, "CE-007 tenant_id", ""},
			{"and is gone", "POST /resolve/skill", own, 404, "CE-031", ""},
		})
		c.rows(t, []row{
			{"an admin for all tenants registers for everybody", "POST /register/skill", skill, 200, "", own},
			{"and for one", "POST /register/skill", `{"record":{"skill_id":"$.one","tenant_id":"$"}}`, 200, "", `{"skill_id":"$.one"}`},
		})
		acme.rows(t, []row{
			{"what is everybody's is the tenant's, too", "POST /resolve/skill", own, 200, "", `{"manifest":{"skill_id":"$.mine"}}`},
			{"what another made for it is its own", "POST /resolve/skill", `{"skill_id":"$.one"}`, 200, "", `{"manifest":{"tenant_id":"$"}}`},
		})
		c.known(t, schemas.RoleReader, "$", "$2").rows(t, []row{
			{"of several, one must be named", "POST /resolve/skill", own, 400, "CE-001 tenant_id", ""},
			{"as this one", "POST /resolve/skill", `{"skill_id":"$.mine","tenant_id":"$2"}`, 200, "", `{"manifest":{"skill_id":"$.mine"}}`},
		})
	})
}

func TestKeysThatEnd(t *testing.T) {
	everywhere(t, guarded, func(t *testing.T, c *client) {
		made, secret, err := c.makeKey(keys.Key{Role: schemas.RoleReader, Tenants: []string{c.word}})
		if err != nil {
			t.Fatal(err)
		}
		revoked := c.with(secret)
		revoked.ask(t, "GET /skills", "").expect(t, 200, "", "")
		if err := c.withKeys(func(ctx context.Context, s *keys.Store) error { return s.Revoke(ctx, made.ID) }); err != nil {
			t.Fatal(err)
		}
		soon(t, "a revoked key is refused", patient, func() bool { return revoked.ask(t, "GET /skills", "").status == 401 })
		_, secret, err = c.makeKey(keys.Key{Role: schemas.RoleReader, Expires: time.Now().Add(-time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		c.with(secret).ask(t, "GET /skills", "").expect(t, 401, "CE-006", "")
	})
}

// A stream that is open ends with the key that opened it; what it asked goes on
// for others of the tenant.
func TestStreamOfAKeyThatEnds(t *testing.T) {
	everywhere(t, guarded, func(t *testing.T, c *client) {
		made, secret, err := c.makeKey(keys.Key{Role: schemas.RoleAnalyst, Tenants: []string{c.word}})
		if err != nil {
			t.Fatal(err)
		}
		_, brief, err := c.makeKey(keys.Key{Role: schemas.RoleAnalyst, Tenants: []string{c.word}, Expires: time.Now().Add(2 * time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		asked := question(text(script{Say: "some words ", Await: c.word}), estate, `"on_disconnect":"continue"`)
		revoked, expired := c.with(secret).follow(t, asked), c.with(brief).follow(t, asked)
		revoked.until(t, "some words ")
		if err := c.withKeys(func(ctx context.Context, s *keys.Store) error { return s.Revoke(ctx, made.ID) }); err != nil {
			t.Fatal(err)
		}
		for name, s := range map[string]*stream{"revoked": revoked, "expired": expired} {
			rest := s.rest(t)
			if n := len(rest); n < 2 || rest[n-2].kind != "error" || !strings.Contains(rest[n-2].data, "AN-401") {
				t.Errorf("the stream of a key that is %s ends with %v", name, rest)
			}
		}
		other := c.known(t, schemas.RoleAnalyst, "$").stream(t, "GET "+revoked.run(), "", after(0))
		other.until(t, "some words ")
		other.stop()
	})
}

func TestLimitsOfACredential(t *testing.T) {
	alone(t, setup{keys: true, model: "scripted", limits: access.Limits{Rate: 20, Streams: 1}}, func(t *testing.T, c *client) {
		busy, other := c.known(t, schemas.RoleAnalyst, "$"), c.known(t, schemas.RoleAnalyst, "$")
		soon(t, "one who asks too much is refused", patient, func() bool {
			a := busy.ask(t, "GET /skills", "")
			if a.status == 429 {
				a.expect(t, 429, "CE-008", "")
				if a.header.Get("Retry-After") == "" {
					t.Error("nothing says when to come back")
				}
			}
			return a.status == 429
		})
		other.ask(t, "GET /skills", "").expect(t, 200, "", "") // has limits of its own
		waits := question(text(script{Say: "some words ", Await: c.word}), estate)
		first := other.follow(t, waits)
		first.until(t, "some words ")
		other.ask(t, analyze, waits).expect(t, 429, "AN-429", "")
		first.stop()
		soon(t, "the next stream is let in", patient, func() bool {
			s := other.follow(t, question(text(script{Say: "x"}), estate))
			defer func() { _ = s.res.Body.Close() }()
			return s.res.StatusCode == 200
		})
	})
}

// TestOperateNeedsAllTenants lets an admin of one tenant see and do nothing that
// concerns all, over HTTP; bus.Endpoint decides the same way for NATS.
func TestOperateNeedsAllTenants(t *testing.T) {
	everywhere(t, guarded, func(t *testing.T, c *client) {
		bound := c.known(t, schemas.RoleAdmin, "$")
		for _, o := range routesOf(t, c) {
			if o.Security == nil || o.Security[0]["bearer"][0] != string(schemas.PermissionOperate) {
				continue
			}
			if a := bound.ask(t, o.request(), ""); a.status != 403 || !strings.Contains(a.body, "credential for all tenants") {
				t.Errorf("%s by an admin of one tenant: %d %s, want 403", o.request(), a.status, brief(a.body))
			}
			if a := c.ask(t, o.request(), ""); a.status == 403 {
				t.Errorf("%s by an admin of all tenants: 403 %s", o.request(), brief(a.body))
			}
		}
	})
}
