package main

import (
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"cairn/bus/bustest"
	"cairn/test/cairntest"
)

func TestKeyCommands(t *testing.T) {
	t.Parallel()
	p, address := reached(t, "--auth", "keys")
	if !strings.Contains(p.output(), "--nats-secret") {
		t.Error("no warning about NATS without authentication")
	}
	key := func(args ...string) result {
		return do(t, "", append([]string{"key"}, append(args, "--nats", address)...)...)
	}
	if got := key("list"); got.code != 0 || !strings.Contains(got.out, "no keys") {
		t.Errorf("no keys: %+v", got)
	}
	var made struct {
		ID  string `json:"id"`
		Key string `json:"key"`
	}
	got := key("create", "--tenant", "acme", "--role", "reader", "--expires", "90d", "--note", "the importer", "-ojson")
	if err := json.Unmarshal([]byte(got.out), &made); err != nil || made.ID == "" || !strings.Contains(made.Key, made.ID) {
		t.Fatalf("create: %+v, %v", got, err)
	}
	if got := do(t, "", "search", "x", "--url", p.http, "--key", made.Key); !strings.Contains(got.err, "CE-031") {
		t.Errorf("with the key: %+v, want a not-found error", got)
	}
	if got := do(t, "", "search", "x", "--url", p.http); got.code != exitRejected || !strings.Contains(got.err, "CE-006") {
		t.Errorf("without: %+v", got)
	}
	if got := key("create", "--all-tenants", "--role", "admin", "--expires", "never"); !strings.Contains(got.err,
		"role admin, tenants all, no expiry") || !strings.HasPrefix(got.out, "cairn_") || strings.Count(got.out, "\n") != 1 {
		t.Errorf("create: %+v", got)
	}
	if got := key("list"); strings.Count(got.out, "active") != 2 || strings.Count(got.out, "  the importer\n") != 1 ||
		!strings.Contains(got.out, "acme") {
		t.Errorf("list: %+v", got)
	}
	if got := key("revoke", made.ID); !strings.Contains(got.out, "revoked "+made.ID) {
		t.Errorf("revoke: %+v", got)
	}
	if got := key("list", "-oname"); len(strings.Fields(got.out)) != 2 || !strings.Contains(got.out, made.ID+"\n") {
		t.Errorf("names: %+v", got)
	}
	if got := key("list", "-oyaml"); !strings.Contains(got.out, "state: revoked\n") {
		t.Errorf("YAML: %+v", got)
	}
	if got := do(t, "", "__complete", "key", "revoke", "--nats", address, ""); strings.Contains(got.out, made.ID) ||
		!strings.Contains(got.out, "\tadmin  all\n") {
		t.Errorf("completions: %+v; want the active key only", got)
	}
	if got := key("list", "-ojson"); !strings.Contains(got.out, `"state": "revoked"`) ||
		strings.Count(got.out, `"note": "the importer"`) != 1 || strings.Contains(got.out, "hash") {
		t.Errorf("list: %+v", got)
	}
	if got := key("revoke", "nobody"); got.code != exitNotFound {
		t.Errorf("an unknown key: %+v", got)
	}
	for message, args := range map[string][]string{
		"expected exactly one of --tenant and": {"create", "--role", "reader"},
		"--role: expected one of":              {"create", "--tenant", "a"},
		"tenants[0]":                           {"create", "--tenant", "a b", "--role", "reader"},
		"role: expected one of":                {"create", "--tenant", "a", "--role", "king"},
		"or never, got \"36501d\"":             {"create", "--tenant", "a", "--role", "reader", "--expires", "36501d"},
		"expected a duration such as 90d":      {"create", "--tenant", "a", "--role", "reader", "--expires", "-1d"},
		"one line":                             {"create", "--tenant", "acme", "--role", "reader", "--note", "a\nb"},
		"no such key: nobody":                  {"revoke", "nobody"},
	} {
		if got := key(args...); got.code == 0 || !strings.Contains(got.err, message) {
			t.Errorf("%v: %+v, want %q", args, got, message)
		}
	}
	if status, _ := cairntest.Request(t, "GET", p.http+"/health", ""); status != 200 {
		t.Errorf("health: %d", status)
	}
}

// TestInterruptedKeyIsRevoked interrupts the command while it writes the key to a
// Kubernetes Secret.
func TestInterruptedKeyIsRevoked(t *testing.T) {
	t.Parallel()
	patched := make(chan struct{})
	api := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // net/http notices a disconnect after the body
		if r.Method == http.MethodPatch {
			close(patched)
			<-r.Context().Done()
			return
		}
		_, _ = w.Write([]byte(`{"data":{}}`)) // fails with the test
	}))
	t.Cleanup(api.Close)
	account := t.TempDir()
	for name, text := range map[string][]byte{
		"token": []byte("secret"), "namespace": []byte("cairn"),
		"ca.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw}),
	} {
		if err := os.WriteFile(filepath.Join(account, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	host, port, err := net.SplitHostPort(api.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, address := reached(t)
	cmd := program("key", "create", "--tenant", "acme", "--role", "reader", "--kubernetes-secret", "admin",
		"--kubernetes-account", account, "--nats", address)
	cmd.Env = append(cmd.Env, "KUBERNETES_SERVICE_HOST="+host, "KUBERNETES_SERVICE_PORT="+port)
	create := begin(t, cmd)
	<-patched
	create.signal(t)
	if code := create.waitExit(t); code != exitInterrupted {
		t.Errorf("exit code %d, want %d:\n%s", code, exitInterrupted, create.output())
	}
	if got := do(t, "", "key", "list", "--nats", address); strings.Count(got.out, "revoked") != 1 ||
		strings.Contains(got.out, "active") {
		t.Errorf("list: %+v, want one revoked key", got)
	}
}

// TestKeyListWithoutBuckets checks that a NATS server without the streams of Cairn is reported
// within the timeout of the command, and that it still has none afterwards.
func TestKeyListWithoutBuckets(t *testing.T) {
	t.Parallel()
	server := bustest.Listen(t)
	for _, args := range [][]string{{"key", "list"}, {"key", "revoke", "a"},
		{"key", "create", "--all-tenants", "--role", "reader"}} {
		got := do(t, "", append(args, "--nats", server.URL())...)
		if got.code != exitUnavailable || !strings.Contains(got.err, "cairn setup") {
			t.Errorf("%q: %+v; want exit %d and the remedy", args, got, exitUnavailable)
		}
	}
	names := bustest.Dial(t, server).JetStream().StreamNames(t.Context())
	for name := range names.Name() {
		t.Errorf("stream %s was created", name)
	}
	if err := names.Err(); err != nil {
		t.Error(err)
	}
}
