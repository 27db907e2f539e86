package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/test/cairntest"
)

// system is one "cairn up" that tests share. Each uses its own tenants.
var system struct {
	once sync.Once
	p    *running
}

// shared returns the URL of the shared system. The first call starts it.
func shared(t *testing.T) string {
	t.Helper()
	system.once.Do(func() {
		cmd := program("up", "--http", "127.0.0.1:0", "--nats-listen", "", "--data", "", "--model", "offline:")
		p := &running{Process: cairntest.Launch(cmd)}
		p.waitForOutput(t, "Press Ctrl-C to shut down.")
		p.http = p.URL()
		system.p = p
	})
	if system.p == nil {
		t.Fatal("the shared system did not start")
	}
	return system.p.http
}

// stopShared ends the shared system.
func stopShared() {
	if system.p != nil {
		system.p.Kill()
	}
}

// doWith runs cairn with variables in this process.
func doWith(t *testing.T, env map[string]string, stdin string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return doIn(ctx, env, stdin, args...)
}

// doIn runs cairn in this process until ctx ends, which is an interrupt.
func doIn(ctx context.Context, env map[string]string, stdin string, args ...string) result {
	var out strings.Builder
	errOut := &buffer{} // the logger of a command is the default logger of the process, also after the command
	root := newRoot(func(name string) string { return env[name] })
	root.SetArgs(args)
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(errOut)
	code := run(ctx, root)
	return result{out.String(), errOut.String(), code}
}

// serving returns the URL of a server with a handler.
func serving(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}
