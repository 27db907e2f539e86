package edge_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"cairn/bus"
	"cairn/bus/audit"
	"cairn/bus/bucket"
	"cairn/bus/keys"
	"cairn/edge"
	"cairn/edge/access"
	"cairn/schemas"
	"cairn/test/wait"
)

// unfinished sends the head of a request with a body of size bytes, and only part of the
// body.
func (f *testEdge) unfinished(t testing.TB, head string, size int, part string) net.Conn {
	t.Helper()
	conn := f.dial(t)
	_, err := fmt.Fprintf(conn, "%s\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", head, size, part)
	must(t, err)
	return conn
}

// response reads the response on the connection.
func response(t testing.TB, conn net.Conn) *http.Response {
	t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	must(t, err)
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// storeTags serves tag writes.
func storeTags(t testing.TB, f *testEdge) {
	t.Helper()
	must(t, bus.WriteTag.Serve(f.service, func(context.Context, schemas.TagWrite) (schemas.TagWritten, error) {
		return schemas.TagWritten{}, nil
	}))
}

const tagBody = `{"request_id":"r","tags":{"x":"y"}}`

func TestBodyMemoryIsBounded(t *testing.T) {
	t.Parallel()
	f := open(t, func(c *edge.Config) { c.BodyMemory = 2 << 20 })
	storeTags(t, f)
	slow := f.unfinished(t, "POST /tags/write HTTP/1.1", 1<<20, "{")
	big := strings.Replace(tagBody, "y", strings.Repeat("y", 900<<10), 1)
	for _, chunked := range []bool{false, true} {
		wait.Until(t, "a body that exceeds the memory is refused", func() bool {
			_ = slow.Close() // its read times out on a busy machine
			slow = f.unfinished(t, "POST /tags/write HTTP/1.1", 1<<20, "{")
			var body io.Reader = strings.NewReader(big)
			if chunked {
				body = unsized{body}
			}
			a := f.request(t, http.MethodPost, "/tags/write", body)
			if a.status != http.StatusServiceUnavailable {
				return false
			}
			if e := a.problem(t); e.Code != "CE-011" || !strings.Contains(e.Detail, "--body-memory") ||
				a.header.Get("Retry-After") == "" {
				t.Errorf("got %s with Retry-After %q, want CE-011 that names --body-memory", a.body, a.header.Get("Retry-After"))
			}
			return true
		})
	}
	if a := f.request(t, http.MethodPost, "/tags/write", strings.NewReader(tagBody)); a.status != http.StatusCreated {
		t.Errorf("a small body beside it: got %d %s, want 201", a.status, a.body)
	}
	must(t, slow.Close())
	wait.Until(t, "the memory of a disconnected client is released", func() bool {
		return f.request(t, http.MethodPost, "/tags/write", strings.NewReader(big)).status == http.StatusCreated
	})
}

// refusals returns the number of refused requests.
func (f *testEdge) refusals(t *testing.T) (n int) {
	t.Helper()
	for line := range strings.Lines(f.request(t, http.MethodGet, "/metrics", nil).body) {
		if value, ok := strings.CutPrefix(line, "cairn_http_refused_total "); ok {
			var err error
			n, err = strconv.Atoi(strings.TrimSpace(value))
			must(t, err)
		}
	}
	return n
}

// checkRefusal checks that the request is refused with the text, and counted once, since the rate of refusals
// bounds immediate ones. Its test is not parallel, because the process has one counter.
func (f *testEdge) checkRefusal(t *testing.T, path string, body io.Reader, text string) {
	t.Helper()
	before := f.refusals(t)
	headers := []string{"Content-Type: application/json", "Accept: application/json, text/event-stream",
		"A2A-Version: 1.0"}
	if a := f.request(t, http.MethodPost, path, body, headers...); !strings.Contains(a.body, text) {
		t.Errorf("%s: got %d %s, want the refusal %q", path, a.status, a.body, text)
	}
	if got, want := f.refusals(t), before+1; got != want {
		t.Errorf("%s: %d refusals, want %d", path, got, want)
	}
}

// TestBodyMemoryRefusals refuses bodies of declared and unknown length, and the copies of messages.
func TestBodyMemoryRefusals(t *testing.T) {
	f := open(t, func(c *edge.Config) { c.BodyMemory = 800 << 10 })
	storeTags(t, f)
	big := strings.Repeat(" ", 900<<10)
	half := strings.Repeat(" ", 600<<10)
	const text = "(--body-memory)"
	f.checkRefusal(t, "/tags/write", strings.NewReader(big), text)
	f.checkRefusal(t, "/tags/write", unsized{strings.NewReader(big)}, text)
	f.checkRefusal(t, "/records", strings.NewReader("{}"), text)
	f.checkRefusal(t, "/mcp", strings.NewReader(half), text)
	f.checkRefusal(t, "/a2a", strings.NewReader(half), text)
	wait.Until(t, "the memory is released", func() bool {
		return f.request(t, http.MethodPost, "/tags/write", strings.NewReader(tagBody)).status == http.StatusCreated
	})
}

// TestSmallRepliesNeedNoBodyMemory checks that the reply of an applied write is not refused.
func TestSmallRepliesNeedNoBodyMemory(t *testing.T) {
	t.Parallel()
	f := open(t, func(c *edge.Config) { c.BodyMemory = 2 << 20 })
	must(t, bus.Unregister.Serve(f.service, func(context.Context, schemas.Unregister) (schemas.Unregistered, error) {
		return schemas.Unregistered{}, nil
	}))
	for _, size := range []int{1 << 20, 629145} { // together 80 % of 2 MiB, the maximum of one tenant
		f.unfinished(t, "POST /tags/write HTTP/1.1", size, "{")
	}
	wait.Until(t, "bodies are refused", func() bool {
		return f.request(t, http.MethodPost, "/tags/write",
			strings.NewReader(tagBody)).status == http.StatusServiceUnavailable
	})
	if a := f.request(t, http.MethodDelete, "/register/skill/a.b", nil); a.status != http.StatusNoContent {
		t.Errorf("a deletion: got %d %s, want 204", a.status, a.body)
	}
}

func TestBodyMemoryIsDividedAmongTenants(t *testing.T) {
	t.Parallel()
	f := open(t, func(c *edge.Config) { c.BodyMemory, c.Access = 4<<20, access.Config{Keys: true} })
	storeTags(t, f)
	must(t, keys.Setup(t.Context(), f.conn, bucket.Replication{}))
	must(t, audit.Setup(t.Context(), f.conn.JetStream(), bucket.Replication{}, 0))
	store, err := keys.Open(t.Context(), f.conn)
	must(t, err)
	bearer := func(tenant string) string {
		_, key, err := store.Create(t.Context(), keys.Key{Role: schemas.RoleAnalyst, Tenants: []string{tenant}})
		must(t, err)
		return "Authorization: Bearer " + key
	}
	acme, globex := bearer("acme"), bearer("globex")
	wait.Until(t, "the keys are valid", func() bool {
		return f.request(t, http.MethodPost, "/tags/write", strings.NewReader(tagBody), acme).status == http.StatusCreated
	})
	large := strings.Replace(tagBody, "y", strings.Repeat("y", 500<<10), 1)
	wait.Until(t, "the tenant that holds its share is refused", func() bool {
		f.unfinished(t, "POST /tags/write HTTP/1.1\r\n"+acme, 512<<10, "{") // until the edge times it out
		return f.request(t, http.MethodPost, "/tags/write", strings.NewReader(large),
			acme).status == http.StatusServiceUnavailable
	})
	if a := f.request(t, http.MethodPost, "/tags/write", strings.NewReader(large),
		globex); a.status != http.StatusCreated {
		t.Errorf("another tenant: got %d %s, want 201", a.status, a.body)
	}
}

func TestRejectedBodiesAreNotAwaited(t *testing.T) {
	t.Parallel()
	f := open(t, func(c *edge.Config) { c.Access = access.Config{Keys: true} })
	for _, c := range []struct {
		name, head string
		size       int
		want       int
	}{
		{"a large body without a credential", "POST /api/v1/analyze HTTP/1.1", 10 << 20, 401},
		{"a short body without a credential", "POST /tags/write HTTP/1.1", 100, 401},
		{"a body above the limit with a malformed credential", "POST /api/v1/analyze HTTP/1.1\r\nAuthorization: Bearer x",
			20 << 20, 401},
		{"a path that does not exist", "POST /nowhere HTTP/1.1", 1 << 20, 404},
		{"a method that is not allowed", "PUT /tags/write HTTP/1.1", 1 << 20, 405},
		{"a body on a route that has none", "GET /health/live HTTP/1.1", 1 << 20, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conn := f.unfinished(t, c.head, c.size, "{")
			res := response(t, conn)
			if res.StatusCode != c.want || !res.Close {
				t.Errorf("got %d, closing %t; want %d on a connection that closes", res.StatusCode, res.Close, c.want)
			}
			if _, err := io.Copy(io.Discard, conn); err != nil { // dial sets a deadline
				t.Errorf("the connection was not closed: %v", err)
			}
		})
	}
}

// TestShortRejectedBodiesKeepTheConnection sends two requests on one connection,
// the first of which is refused before its body is read.
func TestShortRejectedBodiesKeepTheConnection(t *testing.T) {
	t.Parallel()
	f := open(t, func(c *edge.Config) { c.Access = access.Config{Keys: true} })
	conn := f.dial(t)
	in := bufio.NewReader(conn)
	for range 2 {
		_, err := fmt.Fprintf(conn, "POST /tags/write HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s",
			len(tagBody), tagBody)
		must(t, err)
		res, err := http.ReadResponse(in, nil)
		must(t, err)
		_, err = io.Copy(io.Discard, res.Body)
		must(t, err, res.Body.Close())
		if res.StatusCode != http.StatusUnauthorized || res.Close {
			t.Errorf("got %d, closing %t; want 401 on a connection that stays open", res.StatusCode, res.Close)
		}
	}
}
