package main

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

var natsAddress = regexp.MustCompile(`nats://[0-9.:]+`)

func TestKeyCommands(t *testing.T) {
	t.Parallel()
	p := serve(t, "up", "--http", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0", "--data", "", "--auth", "keys")
	at := natsAddress.FindString(p.out.String())
	if !strings.Contains(p.out.String(), "--nats-secret") {
		t.Error("nothing says that NATS asks nobody who they are")
	}
	key := func(args ...string) result {
		return do(t, "", append([]string{"key"}, append(args, "--nats", at)...)...)
	}
	if got := key("list"); got.code != 0 || !strings.Contains(got.out, "no keys") {
		t.Errorf("no keys: %+v", got)
	}
	var made struct {
		ID  string `json:"id"`
		Key string `json:"key"`
	}
	got := key("create", "--tenant", "acme", "--role", "reader", "--expires", "90d", "--note", "the importer", "--json")
	if err := json.Unmarshal([]byte(got.out), &made); err != nil || made.ID == "" || !strings.Contains(made.Key, made.ID) {
		t.Fatalf("create: %+v, %v", got, err)
	}
	if got := do(t, "", "resolve", "--query", "x", "--url", p.http, "--key", made.Key); !strings.Contains(got.err, "CE-031") {
		t.Errorf("with the key: %+v, want that nothing is found", got)
	}
	if got := do(t, "", "resolve", "--query", "x", "--url", p.http); got.code != 1 || !strings.Contains(got.err, "CE-006") {
		t.Errorf("without: %+v", got)
	}
	if got := key("create", "--all-tenants", "--role", "admin", "--expires", "never"); !strings.Contains(got.out,
		"role admin, tenants all, no expiry") {
		t.Errorf("create: %+v", got)
	}
	if got := key("list"); strings.Count(got.out, "active") != 2 || strings.Count(got.out, "  the importer\n") != 1 ||
		!strings.Contains(got.out, "acme") {
		t.Errorf("list: %+v", got)
	}
	if got := key("revoke", made.ID); !strings.Contains(got.out, "revoked "+made.ID) {
		t.Errorf("revoke: %+v", got)
	}
	if got := key("list", "--json"); !strings.Contains(got.out, `"state": "revoked"`) ||
		strings.Count(got.out, `"note": "the importer"`) != 1 || strings.Contains(got.out, "hash") {
		t.Errorf("list: %+v", got)
	}
	for says, args := range map[string][]string{
		"want exactly one of --tenant and": {"create", "--role", "reader"},
		"--role: want one of":              {"create", "--tenant", "a"},
		"tenants[0]":                       {"create", "--tenant", "a b", "--role", "reader"},
		"role: want one of":                {"create", "--tenant", "a", "--role", "king"},
		"want a duration such as 90d":      {"create", "--tenant", "a", "--role", "reader", "--expires", "-1d"},
		"one line":                         {"create", "--tenant", "acme", "--role", "reader", "--note", "a\nb"},
		"no such key: nobody":              {"revoke", "nobody"},
	} {
		if got := key(args...); got.code != 1 || !strings.Contains(got.err, says) {
			t.Errorf("%v: %+v, want %q", args, got, says)
		}
	}
	res, err := http.Get(p.http + "/health")
	if err != nil || res.StatusCode != 200 {
		t.Errorf("health: %v, %v", res, err)
		return
	}
	_ = res.Body.Close()
}
