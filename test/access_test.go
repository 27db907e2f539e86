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
	"cairn/test/wait"
)

// createKey creates an API key and returns its secret.
func (s *system) createKey(role schemas.Role, tenants ...string) (string, error) {
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

// withKeys calls do with the key store, as "cairn key" opens it.
func (s *system) withKeys(do func(context.Context, *keys.Store) error) error {
	conn, err := s.server.Open("test-keys")
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), recoveryTimeout)
	defer cancel()
	store, err := keys.Open(ctx, conn)
	if err != nil {
		return err
	}
	return do(ctx, store)
}

// withRole returns a client with a new key of the role and tenants.
func (c *client) withRole(t testing.TB, role schemas.Role, tenants ...string) *client {
	t.Helper()
	for i, tenant := range tenants {
		tenants[i] = c.named(tenant)
	}
	key, err := c.createKey(role, tenants...)
	must(t, err)
	return c.with(key)
}

func (c *client) with(key string) *client {
	other := *c
	other.key = key
	return &other
}

func TestAuthenticationIsRequired(t *testing.T) {
	everywhere(t, authenticated, func(t *testing.T, c *client) {
		for _, o := range routesOf(t, c) {
			if len(o.Security) == 0 {
				continue
			}
			want := "CE-006"
			if strings.HasPrefix(o.path, "/api/") || o.path == "/a2a" {
				want = "AN-401"
			}
			for name, caller := range map[string]*client{"no key": c.with(""), "a wrong secret": c.with(c.key + "x"),
				"an unknown key": c.with("cairn_a_b"), "another token": c.with("e30.e30.e30")} {
				a := caller.call(t, o.request(), `{}`)
				a.expect(t, 401, want, "")
				if a.header.Get("WWW-Authenticate") == "" {
					t.Errorf("%s with %s: no WWW-Authenticate header", o.request(), name)
				}
			}
		}
		for _, open := range []string{"GET /health", "GET /openapi.json", "GET /docs"} {
			if a := c.with("").call(t, open, ""); a.status != 200 {
				t.Errorf("%s without a key: %d, want 200", open, a.status)
			}
		}
	})
}

// TestRolesOverHTTP compares each role's access with the permission that the
// OpenAPI description names for the route.
func TestRolesOverHTTP(t *testing.T) {
	everywhere(t, authenticated, func(t *testing.T, c *client) {
		may := map[schemas.Role]string{
			schemas.RoleReader: "read", schemas.RoleRegistrar: "read tag register",
			schemas.RoleAnalyst: "read tag analyze", schemas.RoleAdmin: "read tag register analyze",
		}
		for _, role := range schemas.Roles() {
			caller := c.withRole(t, role, "$")
			for _, o := range routesOf(t, c) {
				if len(o.Security) == 0 {
					continue
				}
				request := o.request()
				if o.path == "/watch" {
					request += "?kind=none"
				}
				a := caller.call(t, request, `{}`) // with permission: 400 or 404
				refused := a.status == 403
				if allowed := slices.Contains(strings.Fields(may[role]), o.Security[0]["bearer"][0]); allowed == refused {
					t.Errorf("%s %s as a %s: %d %s", o.method, o.path, role, a.status, truncated(a.body))
				}
			}
		}
	})
}

func TestCredentialTenants(t *testing.T) {
	everywhere(t, authenticated, func(t *testing.T, c *client) {
		const skill, own = `{"record":{"skill_id":"$.mine"}}`, `{"skill_id":"$.mine"}`
		acme := c.withRole(t, schemas.RoleRegistrar, "$")
		acme.rows(t, []row{
			{"the default tenant is that of the key", "POST /register/skill", skill, 200, "", own},
			{"the record is found", "POST /resolve/skill", own, 200, "", `{"manifest":{"skill_id":"$.mine","tenant_id":"$"}}`},
			{"another tenant is refused", "POST /register/skill", `{"record":{"skill_id":"$.x","tenant_id":"$2"}}`, 403,
				"CE-007 record.tenant_id", ""},
			{"the global scope is refused", "POST /register/skill", `{"record":{"skill_id":"$.x","tenant_id":null}}`, 403,
				"CE-007 record.tenant_id", ""},
			{"a tenant deletes its record", "DELETE /register/skill/$.mine", "", 204, "", ""},
			{"another tenant's record cannot be deleted", "DELETE /register/skill/$.mine?tenant_id=$2", "", 403,
				"CE-007 tenant_id", ""},
			{"the deleted record is not found", "POST /resolve/skill", own, 404, "CE-031", ""},
		})
		c.rows(t, []row{
			{"an admin for all tenants registers global records", "POST /register/skill", skill, 200, "", own},
			{"an admin for all tenants registers records of a tenant", "POST /register/skill",
				`{"record":{"skill_id":"$.one","tenant_id":"$"}}`,
				200, "", `{"skill_id":"$.one"}`},
		})
		acme.rows(t, []row{
			{"a tenant reads global records", "POST /resolve/skill", own, 200, "", `{"manifest":{"skill_id":"$.mine"}}`},
			{"a tenant reads its record that an admin registered", "POST /resolve/skill", `{"skill_id":"$.one"}`, 200, "",
				`{"manifest":{"tenant_id":"$"}}`},
		})
		c.withRole(t, schemas.RoleReader, "$", "$2").rows(t, []row{
			{"a key of several tenants needs tenant_id", "POST /resolve/skill", own, 400, "CE-001 tenant_id", ""},
			{"with tenant_id the record is found", "POST /resolve/skill", `{"skill_id":"$.mine","tenant_id":"$2"}`, 200, "",
				`{"manifest":{"skill_id":"$.mine"}}`},
		})
	})
}

func TestExpiredAndRevokedKeys(t *testing.T) {
	everywhere(t, authenticated, func(t *testing.T, c *client) {
		made, secret, err := c.makeKey(keys.Key{Role: schemas.RoleReader, Tenants: []string{c.word}})
		must(t, err)
		revoked := c.with(secret)
		revoked.call(t, "GET /skills", "").expect(t, 200, "", "")
		must(t, c.withKeys(func(ctx context.Context, s *keys.Store) error { return s.Revoke(ctx, made.ID) }))
		wait.Until(t, "a revoked key is refused", func() bool { return revoked.call(t, "GET /skills", "").status == 401 })
		_, secret, err = c.makeKey(keys.Key{Role: schemas.RoleReader, Expires: time.Now().Add(-time.Second)})
		must(t, err)
		c.with(secret).call(t, "GET /skills", "").expect(t, 401, "CE-006", "")
	})
}

// TestStreamOfRevokedKey ends the open stream of a revoked or expired key with
// AN-401. The run continues for other callers of the tenant.
func TestStreamOfRevokedKey(t *testing.T) {
	everywhere(t, authenticated, func(t *testing.T, c *client) {
		made, secret, err := c.makeKey(keys.Key{Role: schemas.RoleAnalyst, Tenants: []string{c.word}})
		must(t, err)
		_, brief, err := c.makeKey(keys.Key{Role: schemas.RoleAnalyst, Tenants: []string{c.word},
			Expires: time.Now().Add(2 * time.Second)})
		must(t, err)
		received := question(text(script{Say: "some words ", Await: c.word}), estate, `"on_disconnect":"continue"`)
		revoked, expired := c.with(secret).follow(t, received), c.with(brief).follow(t, received)
		revoked.until(t, "some words ")
		must(t, c.withKeys(func(ctx context.Context, s *keys.Store) error { return s.Revoke(ctx, made.ID) }))
		for name, s := range map[string]*stream{"revoked": revoked, "expired": expired} {
			rest := s.rest(t)
			if n := len(rest); n < 2 || rest[n-2].kind != "error" || !strings.Contains(rest[n-2].data, "AN-401") {
				t.Errorf("the stream of a %s key ends with %v, want AN-401", name, rest)
			}
		}
		analyst := c.withRole(t, schemas.RoleAnalyst, "$")
		other := analyst.stream(t, "GET "+revoked.run(), "", after(0))
		other.until(t, "some words ")
		other.stop()
		for _, s := range []*stream{revoked, expired} {
			analyst.do(t, "DELETE "+s.run(), "")
		}
	})
}

func TestCredentialLimits(t *testing.T) {
	isolated(t, setup{keys: true, model: "scripted", grace: 300 * time.Millisecond,
		limits: access.Limits{Rate: 20, Streams: 1}},
		func(t *testing.T, c *client) {
			busy, other := c.withRole(t, schemas.RoleAnalyst, "$"), c.withRole(t, schemas.RoleAnalyst, "$")
			wait.Until(t, "a client over its rate limit is refused", func() bool {
				a := busy.call(t, "GET /skills", "")
				if a.status == 429 {
					a.expect(t, 429, "CE-008", "")
					if a.header.Get("Retry-After") == "" {
						t.Error("429 without Retry-After")
					}
				}
				return a.status == 429
			})
			other.call(t, "GET /skills", "").expect(t, 200, "", "") // limits apply per key
			waits := question(text(script{Say: "some words ", Await: c.word}), estate)
			first := other.follow(t, waits)
			first.until(t, "some words ")
			other.call(t, analyze, waits).expect(t, 429, "AN-429", "")
			first.stop()
			wait.Until(t, "the next stream is admitted", func() bool {
				s := other.follow(t, question(text(script{Say: "x"}), estate))
				defer func() { _ = s.res.Body.Close() }()
				return s.res.StatusCode == 200
			})
		})
}

// TestOperateNeedsAllTenants refuses operations on all tenants to an admin of one
// tenant over HTTP. bus.Endpoint applies the same rule to NATS.
func TestOperateNeedsAllTenants(t *testing.T) {
	everywhere(t, authenticated, func(t *testing.T, c *client) {
		bound := c.withRole(t, schemas.RoleAdmin, "$")
		for _, o := range routesOf(t, c) {
			if o.Permission != schemas.PermissionOperate {
				continue
			}
			if a := bound.call(t, o.request(), ""); a.status != 403 || !strings.Contains(a.body, "credential for all tenants") {
				t.Errorf("%s by an admin of one tenant: %d %s, want 403", o.request(), a.status, truncated(a.body))
			}
			if a := c.call(t, o.request(), ""); a.status == 403 {
				t.Errorf("%s by an admin of all tenants: 403 %s", o.request(), truncated(a.body))
			}
		}
	})
}
