package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"cairn/deploy/internal/flags"
	"cairn/test/cairntest"
)

func TestTagCommands(t *testing.T) {
	t.Parallel()
	url := shared(t)
	for _, row := range []step{
		{"write", []string{"write", "r/1", "--flow", "triage", "phase=start", "attempts=3", "--ttl", "10m"}, 0,
			"wrote r/1\n"},
		{"twice", []string{"write", "r/1"}, exitRejected, "CE-021"},
		{"get", []string{"get", "r/1"}, 0, "flow        triage\n  attempts  3\n  phase     \"start\"\n"},
		{"as JSON", []string{"get", "r/1", "-o", "json"}, 0, `"phase": "start"`},
		{"as YAML", []string{"get", "r/1", "-o", "yaml"}, 0, "phase: start"},
		{"by name", []string{"get", "r/1", "-o", "name"}, 0, "r/1\n"},
		{"list", []string{"list"}, 0, "REQUEST_ID  CREATED"},
		{"list by name", []string{"list", "-o", "name"}, 0, "r/1\n"},
		{"list as JSON", []string{"list", "-o", "json"}, 0, `"request_id": "r/1"`},
		{"a list of no tags", []string{"list", "--limit", "0"}, exitUsage, "limit"},
		{"delete", []string{"delete", "r/1"}, 0, "deleted r/1\n"},
		{"an absent tag", []string{"get", "r/1"}, exitNotFound, "CE-022"},
		{"delete an absent tag", []string{"delete", "r/1"}, 0, "deleted"},
		{"a value without a name", []string{"write", "r/2", "start"}, exitUsage, "expected NAME=VALUE"},
		{"a name twice", []string{"write", "r/2", "a=1", "a=2"}, exitUsage, "a is given more than once"},
		{"a short time to live", []string{"write", "r/2", "--ttl", "1ms"}, exitUsage, "ttl_seconds"},
	} {
		row.args = slices.Insert(row.args, 0, "tags")
		row.check(t, "--url", url, "--tenant", "tags")
	}
}

func TestRunCommands(t *testing.T) {
	t.Parallel()
	url := shared(t)
	started := do(t, `{"hosts":[{"name":"a"}]}`, "ask", "--url", url, "--estate", "-", "--detach", "how many hosts?")
	run := strings.TrimSpace(started.out)
	if started.code != 0 || run == "" {
		t.Fatalf("%+v", started)
	}
	if got := do(t, "", "runs", "follow", run, "--url", url); got.code != 0 || !strings.Contains(got.out, "1 host") {
		t.Errorf("%+v", got)
	}
	if got := do(t, "", "runs", "follow", run, "--url", url, "-ojson"); !strings.HasSuffix(got.out,
		"{\"event\":\"done\",\"data\":{}}\n") {
		t.Errorf("%+v", got)
	}
	for output, want := range map[string]string{"table": run, "json": `"run": "` + run + `"`, "name": run + "\n"} {
		got := do(t, "", "runs", "list", "--url", url, "--state", "done", "--limit", "1000", "-o", output)
		if got.code != 0 || !strings.Contains(got.out, want) {
			t.Errorf("%s: %+v, want %q", output, got, want)
		}
	}
	if got := do(t, "", "__complete", "runs", "follow", "--url", url, run[:4]); !strings.Contains(got.out,
		run+"\tdone, started ") {
		t.Errorf("completion: %+v", got)
	}
	if got := do(t, "", "__complete", "runs", "cancel", "--url", url, run[:4]); strings.Contains(got.out, run) {
		t.Errorf("completion of a run that has ended: %+v", got)
	}
	got := do(t, "", "runs", "list", "--url", url, "--since", "1h", "--limit", "1000")
	if !strings.Contains(got.out, run) {
		t.Errorf("since an hour ago: %+v", got)
	}
	if got := do(t, "", "runs", "list", "--url", url, "--state", "gone"); got.code != exitUsage ||
		!strings.Contains(got.err, "canceled") {
		t.Errorf("%+v", got)
	}
	if got := do(t, "", "runs", "cancel", run, "--url", url); got.code != 0 || got.out != "canceled "+run+"\n" {
		t.Errorf("%+v", got)
	}
	if got := do(t, "", "runs", "follow", "none", "--url", url); got.code != exitNotFound ||
		!strings.Contains(got.err, "AN-404") {
		t.Errorf("%+v", got)
	}
}

// systemCall matches functions that no message names.
var systemCall = regexp.MustCompile(`\b(lstat|stat|open|fork/exec|strconv\.\w+|slog|time:) `)

// TestExitCodes checks the exit codes of classes of errors.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	absent := filepath.Join(t.TempDir(), "absent.json")
	code := func(status int, body string) string {
		return answering(t, status, body)
	}
	for _, row := range []struct {
		name string
		args []string
		want int
	}{
		{"an unknown command", []string{"gett"}, exitUsage},
		{"an unknown subcommand", []string{"key", "lst"}, exitUsage},
		{"an unknown flag", []string{"get", "--bogus"}, exitUsage},
		{"an invalid value", []string{"get", "-o", "xml"}, exitUsage},
		{"an argument too many", []string{"status", "x"}, exitUsage},
		{"an invalid URL", []string{"status", "--url", "ftp://a"}, exitUsage},
		{"an unreachable server", []string{"status", "--url", "127.0.0.1:1"}, exitUnavailable},
		{"an unreachable NATS server", []string{"key", "list", "--nats", "nats://127.0.0.1:1"}, exitUnavailable},
		{"a proxy without a server", []string{"reindex", "--url", code(502, "bad gateway")}, exitUnavailable},
		{"a timeout", []string{"reindex", "--url", code(504, `{"code":"CE-012","status":504}`)}, exitUnavailable},
		{"no credential", []string{"reindex", "--url", code(401, `{"code":"CE-006","status":401}`)}, exitRejected},
		{"no permission", []string{"reindex", "--url", code(403, `{"code":"CE-007","status":403}`)}, exitRejected},
		{"a conflict", []string{"reindex", "--url", code(409, `{"code":"CE-021","status":409}`)}, exitRejected},
		{"a failed precondition", []string{"reindex", "--url", code(412, `{"code":"CE-013","status":412}`)}, exitRejected},
		{"a rate limit", []string{"reindex", "--url", code(429, `{"code":"CE-008","status":429}`)}, exitRejected},
		{"an unknown path", []string{"reindex", "--url", code(404, `{"code":"CE-004","status":404}`)}, exitNotFound},
		{"an internal error", []string{"reindex", "--url", code(500, `{"code":"CE-010","status":500}`)}, exitFailed},
		{"a server that is not Cairn", []string{"reindex", "--url", code(418, "teapot")}, exitFailed},
		{"an absent estate", []string{"ask", "--estate", absent, "q"}, exitUsage},
		{"an empty estate", []string{"ask", "--estate", "-", "q"}, exitUsage},
		{"an estate that is a directory", []string{"ask", "--estate", t.TempDir(), "q"}, exitUsage},
		{"an estate of an unreachable server", []string{"ask", "--estate", "http://127.0.0.1:1/estate.json", "q"},
			exitUnavailable},
		{"an absent estate of a server", []string{"ask", "--estate", code(404, "no"), "q"}, exitNotFound},
		{"no records", []string{"diff", "-"}, exitUsage},
		{"an absent file to compare", []string{"diff", absent}, exitUsage},
		{"an absent source", []string{"import", absent}, exitUsage},
		{"an absent command", []string{"import", "--", absent}, exitUsage},
		{"a source of an unreachable server", []string{"import", "http://127.0.0.1:1/"}, exitUnavailable},
		{"a source that requires a credential", []string{"import", code(401, "no")}, exitRejected},
		{"an absent backup", []string{"restore", absent}, exitUsage},
		{"an absent corpus", []string{"eval", absent, absent}, exitUsage},
		{"an absent key file", []string{"status", "--key-file", absent}, exitUsage},
		{"an unknown log level", []string{"up", "--log-level", "loud"}, exitUsage},
		{"an unknown method", []string{"up", "--auth", "magic"}, exitUsage},
		{"an invalid number", []string{"get", "--limit", "many"}, exitUsage},
		{"help", []string{"get", "--help"}, 0},
		{"the version", []string{"--version"}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := do(t, "", row.args...)
			if got.code != row.want {
				t.Errorf("%+v; want exit %d", got, row.want)
			}
			if call := systemCall.FindString(got.err); call != "" {
				t.Errorf("%+v names %q", got, call)
			}
		})
	}
}

// TestUsageErrors checks that errors suggest similar words, and name the expected value instead of functions and
// system calls.
func TestUsageErrors(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"gett": "did you mean get?", "serch": "did you mean search?", "register": "did you mean apply?",
		"rm": "did you mean delete?", "stats": "did you mean compute?",
		"descibe": "did you mean describe?", "key lst": "did you mean list?", "runs logs": "did you mean follow?",
		"context use": "did you mean select?", "lsit": "did you mean list?", "get skil": "did you mean skill?",
		"get skil/a": "did you mean skill?", "get --ulr x": "unknown flag: --ulr; did you mean --url?",
		"get --xyz": "unknown flag: --xyz; see: cairn get --help", "worker resolv": "did you mean resolve?",
		"get skill --limit x":   `--limit: expected an integer, got "x"; see: cairn get --help`,
		"get skill --limit=1.5": `--limit: expected an integer, got "1.5"`,
		"up --drain x":          `--drain: expected a duration such as 10s or 5m, got "x"`,
		"up --console=x":        `--console: expected true or false, got "x"`,
		"apply nofile.yaml":     "cairn: nofile.yaml: no such file or directory",
		"xyz":                   `unknown command "xyz" for "cairn"; see: cairn --help`,
	} {
		if got := do(t, "", strings.Fields(args)...); got.code != exitUsage || !strings.Contains(got.err, want) {
			t.Errorf("%s: %+v, want %q", args, got, want)
		}
	}
	got := doWith(t, map[string]string{"CAIRN_LIMIT": "x"}, "", "get", "skill")
	if want := `environment CAIRN_LIMIT: --limit: expected an integer, got "x"`; got.code != exitUsage ||
		!strings.Contains(got.err, want) {
		t.Errorf("%+v, want %q", got, want)
	}
}

func TestCompletions(t *testing.T) {
	t.Parallel()
	url := shared(t)
	cairntest.Request(t, "PUT", url+"/records/tool/complete.a.b", `{"description": "a tool"}`)
	const described = `{"tenant_id": "complete", "purpose": "p", "domain": "net", "labels": {"team": "core"}}`
	cairntest.Request(t, "PUT", url+"/records/agent/complete.agent?tenant_id=complete", described)
	contexts := filepath.Join(t.TempDir(), "contexts.json")
	env := map[string]string{flags.ContextsVariable: contexts, "CAIRN_URL": url}
	doWith(t, env, "", "context", "add", "here", "--url", url, "--tenant", "complete").must(t)
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"get", ""}, "skill\nagent\n"},
		{[]string{"get", "to"}, "tool\n"},
		{[]string{"get", "tool", "complete."}, "complete.a.b\ta tool\n"},
		{[]string{"describe", "tool/complete."}, "tool/complete.a.b\ta tool\n"},
		{[]string{"get", "playbook", ""}, ":4\n"},
		{[]string{"get", "-o", ""}, "table\nwide\n"},
		{[]string{"get", "--context", ""}, "here\n"},
		{[]string{"context", "select", ""}, "here\n"},
		{[]string{"ask", "--mode", ""}, "standard\nbroad\n"},
		{[]string{"get", "--tenant", ""}, "complete\n:4\n"},
		{[]string{"get", "agent", "--tenant", "complete", "--domain", ""}, "net\n:4\n"},
		{[]string{"export", "--tenant", "complete", "--labels", ""}, "team=core\n:4\n"},
		{[]string{"get", "--status", ""}, "active\ndraft\ndeprecated\nretired\n:4\n"},
		{[]string{"search", "--kind", ""}, "skill\nagent\ntool\nguardrail\ntemplate\n:4\n"},
		{[]string{"search", "--status", ""}, "active\ndeprecated\n:4\n"},
		{[]string{"key", "create", "--role", ""}, "reader\nregistrar\nanalyst\nadmin\n:4\n"},
		{[]string{"key", "revoke", "--nats", "nats://127.0.0.1:1", ""}, ":4\n"},
		{[]string{"up", "--auth", ""}, "keys\noidc=\noff\n:4\n"},
		{[]string{"edge", "--log-level", ""}, "debug\ninfo\nwarn\nerror\n:4\n"},
		{[]string{"worker", "--log-format", ""}, "text\njson\n:4\n"},
		{[]string{"worker", "tags", ""}, "tags\nregister\n"},
	} {
		if got := doWith(t, env, "", append([]string{"__complete"}, row.args...)...); !strings.HasPrefix(got.out, row.want) {
			t.Errorf("%q: %q, want %q", row.args, got.out, row.want)
		}
	}
	if got := do(t, "", "__complete", "get", "--url", "127.0.0.1:1", "tool", ""); got.out != ":4\n" {
		t.Errorf("without a server: %+v", got)
	}
}

func TestContexts(t *testing.T) {
	t.Parallel()
	var received []string
	h := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/identity" {
			_, _ = w.Write([]byte(`{"permissions":[]}`))
			return
		}
		// requests are sequential
		received = append(received, r.Header.Get("Authorization")+" "+r.URL.Query().Get("tenant_id"))
		_, _ = w.Write([]byte(`{"records":[],"next_cursor":null}`))
	}
	first, second := serving(t, h), serving(t, h)
	dir := t.TempDir()
	write(t, dir, "key", "from-file\n")
	file := filepath.Join(dir, "sub", "contexts.json")
	env := map[string]string{flags.ContextsVariable: file, "SECRET": "from-variable", "CAIRN_KEY_FILE": "/nonexistent"}
	plain := map[string]string{flags.ContextsVariable: file, "SECRET": "from-variable"}
	for _, row := range []struct {
		name    string
		env     map[string]string
		args    []string
		code    int
		message string
		want    string // key and tenant of the request
	}{
		{"no contexts", plain, []string{"context", "ls"}, 0, "no contexts; add one", ""},
		{"add", env, []string{"context", "add", "one", "--url", first, "--tenant", "acme", "--key", "stored"}, 0,
			"added and selected one", ""},
		{"the selected context", plain, []string{"get", "skill"}, 0, "", "Bearer stored acme"},
		{"a flag takes precedence", plain, []string{"get", "skill", "--tenant", "other", "--key", "mine"}, 0, "",
			"Bearer mine other"},
		{"another server does not receive the key", plain, []string{"get", "skill", "--url", second}, 0, "", " "},
		{"a key file", plain, []string{"context", "add", "two", "--url", second, "--key-file", filepath.Join(dir, "key"),
			"--no-select"}, 0, "added two", ""},
		{"a named context", plain, []string{"get", "skill", "--context", "two"}, 0, "", "Bearer from-file "},
		{"by a variable", map[string]string{flags.ContextsVariable: file, "CAIRN_CONTEXT": "two"}, []string{"get", "skill"},
			0, "", "Bearer from-file "},
		{"a key variable", plain, []string{"context", "add", "three", "--url", first, "--key-env", "SECRET"}, 0, "added", ""},
		{"is read", plain, []string{"get", "skill"}, 0, "", "Bearer from-variable "},
		{"a key variable that is not set", map[string]string{flags.ContextsVariable: file}, []string{"get", "skill"},
			exitUsage, "SECRET with the key is not set", ""},
		{"a context and another URL", plain, []string{"get", "skill", "--context", "two", "--url", first}, exitUsage,
			"mutually exclusive", ""},
		{"an unknown context", plain, []string{"get", "skill", "--context", "none"}, exitUsage,
			`no context "none"; expected one of: one, three, two`, ""},
		{"select", plain, []string{"context", "select", "one"}, 0, "selected one", ""},
		{"a list", plain, []string{"context", "ls"}, 0, "*  one", ""},
		{"without keys", plain, []string{"context", "ls", "-o", "json"}, 0, `"key": "stored"`, ""},
		{"two sources of the key", plain, []string{"context", "add", "x", "--key", "a", "--key-env", "b"}, exitUsage,
			"mutually exclusive", ""},
		{"two edges", plain, []string{"context", "add", "both", "--url", "127.0.0.1:1," + first, "--key", "k"}, 0,
			"added", ""},
		{"the other edge", plain, []string{"get", "skill"}, 0, "retries: 1, because", "Bearer k "},
		{"select again", plain, []string{"context", "select", "one"}, 0, "selected one", ""},
		{"an invalid name", plain, []string{"context", "add", "a b"}, exitUsage, "NAME: expected", ""},
		{"an invalid URL", plain, []string{"context", "add", "x", "--url", "ftp://a"}, exitUsage, "--url", ""},
		{"remove", plain, []string{"context", "rm", "one"}, 0, "removed one", ""},
		{"remove an unknown one", plain, []string{"context", "rm", "one"}, exitUsage, "no context", ""},
	} {
		received = nil
		got := doWith(t, row.env, "", row.args...)
		if got.code != row.code || !strings.Contains(got.out+got.err, row.message) ||
			strings.Join(received, "|") != row.want {
			t.Errorf("%s: %+v, requests %q; want exit %d, %q and %q", row.name, got, received, row.code, row.message, row.want)
		}
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want permissions 0600", info, err)
	}
	write(t, dir, "sub/contexts.json", "{")
	if got := doWith(t, plain, "", "get", "skill"); got.code != exitUsage || !strings.Contains(got.err, "contexts.json") {
		t.Errorf("a malformed file: %+v", got)
	}
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	p, nats := reached(t, "--auth", "keys")
	key := createKey(t, nats, "--tenant", "acme", "--role", "registrar")
	admin := createKey(t, nats, "--all-tenants", "--role", "admin")
	for _, row := range []struct {
		name string
		args []string
		code int
		want []string
	}{
		{"warnings, strictly", []string{"--url", p.http, "--key", admin, "--strict"}, exitFailed,
			[]string{"fix model: set --model"}},
		{"warnings of an admin", []string{"--url", p.http, "--key", admin, "--nats", nats}, 0,
			[]string{"role register", "(role admin, or no authentication)", "fix model: set --model", "stream cairn_catalog",
				"clock"}},
		{"a registrar", []string{"--url", p.http, "--key", key}, 0,
			[]string{"permits read, tag, register (role registrar)", "roles       skipped", "nats        skipped"}},
		{"an invalid key", []string{"--url", p.http, "--key", "cairn_a_b"}, exitRejected,
			[]string{"fix credential: set --key"}},
		{"no server", []string{"--url", "127.0.0.1:1"}, exitUnavailable, []string{"fix url: start Cairn"}},
		{"no NATS", []string{"--url", p.http, "--key", key, "--nats", "nats://127.0.0.1:1"}, exitUnavailable,
			[]string{"fix nats: start NATS"}},
		{"as JSON", []string{"--url", "127.0.0.1:1", "-o", "json"}, exitUnavailable, []string{`"result": "failed"`}},
		{"a degraded server", []string{"--url",
			answering(t, 503, `{"status":"down","version":"9","degraded":["not connected to NATS"]}`)},
			exitUnavailable, []string{"fix version", "fix cairn: check the NATS servers"}},
	} {
		got := do(t, "", append([]string{"doctor"}, row.args...)...)
		if got.code != row.code {
			t.Errorf("%s: %+v; want exit %d", row.name, got, row.code)
		}
		for _, want := range row.want {
			if !strings.Contains(got.out, want) {
				t.Errorf("%s: %+v; want %q", row.name, got, want)
			}
		}
	}
}

// TestRetriesAreReported checks that commands print the number of retries.
func TestRetriesAreReported(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"get", "skill"}, {"get", "skill", "a.b"}, {"delete", "skill", "a.b"}, {"export", "skill"}, {"search", "x"},
		{"resolve", "a"},
		{"tags", "get", "a"}, {"tags", "list"}, {"ask", "--estate", "-", "how many?"}, {"describe", "skill", "a.b"},
		{"compute", "--estate", "-"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			var received atomic.Int32
			url := serving(t, func(w http.ResponseWriter, _ *http.Request) {
				if received.Add(1) == 1 {
					w.WriteHeader(http.StatusServiceUnavailable)
					_, _ = w.Write([]byte(`{"code":"CE-011","status":503}`))
					return
				}
				w.WriteHeader(http.StatusNotFound)
				_, _ = w.Write([]byte(`{"code":"CE-081","status":404}`))
			})
			got := do(t, "{}", append(args, "--url", url)...)
			if got.code != exitNotFound || !strings.Contains(got.err, "retries: 1, because") {
				t.Errorf("%+v; want one retry", got)
			}
		})
	}
}
