package test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"cairn/bus"
)

// client sends requests to a system. It replaces $ in all texts with its word.
type client struct {
	*system
	word string // unique
	http *http.Client
	base string // URL of the edge
	key  string // API key; empty: no credential
}

func newClient(t testing.TB, s *system) *client {
	transport := &http.Transport{MaxIdleConnsPerHost: 32}
	t.Cleanup(transport.CloseIdleConnections)
	return &client{
		system: s, word: word(), base: s.edge, key: s.key,
		http: &http.Client{Transport: transport, Timeout: 2 * time.Minute},
	}
}

// at returns a copy of c for another edge of the same system.
func (c *client) at(edge string) *client {
	other := *c
	other.base = edge
	return &other
}

func (c *client) named(text string) string { return strings.ReplaceAll(text, "$", c.word) }

// answer is a response of the edge.
type answer struct {
	word   string // of the client
	path   string
	status int
	header http.Header
	body   string
}

// call sends "METHOD /path" with a body; headers have the form "Name: value".
func (c *client) call(t testing.TB, request, body string, headers ...string) answer {
	t.Helper()
	a, err := c.try(t.Context(), request, body, headers...)
	if err != nil {
		t.Fatalf("%s: %v", request, err)
	}
	return a
}

func (c *client) try(ctx context.Context, request, body string, headers ...string) (answer, error) {
	res, err := c.send(ctx, request, strings.NewReader(c.named(body)), headers...)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = res.Body.Close() }()
	content, err := io.ReadAll(res.Body)
	return answer{c.word, res.Request.URL.EscapedPath(), res.StatusCode, res.Header, string(content)}, err
}

// send sends a request. The caller closes the response body.
func (c *client) send(ctx context.Context, request string, body io.Reader, headers ...string) (*http.Response, error) {
	method, path, _ := strings.Cut(request, " ")
	req, err := http.NewRequestWithContext(ctx, method, c.base+c.named(path), body)
	if err != nil {
		return nil, err
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
	}
	if strings.HasPrefix(path, "/a2a") {
		req.Header.Set("A2A-Version", "1.0")
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	return c.http.Do(req)
}

// row is one statement of the contract with a request that tests it.
type row struct {
	name    string
	request string // "METHOD /path"
	body    string
	status  int
	// want is the expected JSON, or the error code and the fields of the error.
	want string
	// part is JSON that the answer must contain; see contains.
	part string
}

// rows runs the rows in order as subtests.
func (c *client) rows(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			c.call(t, r.request, r.body).expect(t, r.status, r.want, r.part)
		})
	}
}

// do sends a request that must succeed, to prepare a test.
func (c *client) do(t testing.TB, request, body string) answer {
	t.Helper()
	a := c.call(t, request, body)
	if a.status >= 300 {
		t.Fatalf("%s %s: %d %s", request, c.named(body), a.status, a.body)
	}
	return a
}

// expect compares the answer with status and with want and part of a row.
func (a answer) expect(t testing.TB, status int, want, part string) {
	t.Helper()
	want, part = strings.ReplaceAll(want, "$", a.word), strings.ReplaceAll(part, "$", a.word)
	switch {
	case a.status != status:
		t.Errorf("status %d, want %d: %s", a.status, status, truncated(a.body))
	case status == http.StatusNoContent:
		if a.body != "" {
			t.Errorf("a body: %q", a.body)
		}
	case a.header.Get("Content-Type") != "application/json":
		t.Errorf("content type %q", a.header.Get("Content-Type"))
	case status >= 400:
		a.fails(t, want)
	default:
		if want != "" {
			if diff := cmp.Diff(value(t, want), value(t, a.body)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		}
		if part != "" {
			if diff := contains(value(t, a.body), value(t, part)); diff != "" {
				t.Errorf("%s: %s", diff, truncated(a.body))
			}
		}
	}
}

// decode decodes the body.
func (a answer) decode(t testing.TB, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), into); err != nil {
		t.Fatalf("%d %q: %v", a.status, truncated(a.body), err)
	}
}

// fails checks an error body; want is its code, then the sorted field names.
func (a answer) fails(t testing.TB, want string) {
	t.Helper()
	var e struct {
		Type, Title, Detail, Instance, Code string
		Status                              int
		RequestID                           string `json:"request_id"`
		Errors                              []struct{ Field, Message string }
	}
	a.decode(t, &e)
	got := []string{e.Code}
	for _, f := range e.Errors {
		got = append(got, f.Field)
		if f.Message == "" {
			t.Errorf("no message for %s", f.Field)
		}
	}
	slices.Sort(got[1:])
	if expected := strings.Fields(want); !slices.Equal(got, expected) {
		t.Errorf("%q, want %q: %s", got, expected, a.body)
	}
	if e.Detail == "" || !utf8.ValidString(e.Detail) || len(e.Detail) > 4<<10 {
		t.Errorf("detail %q, want one sentence: %s", e.Detail, a.body)
	}
	if e.Status != a.status || e.Type == "" || e.Title == "" {
		t.Errorf("type %q, title %q, status %d in an answer with %d", e.Type, e.Title, e.Status, a.status)
	}
	if id := a.header.Get(bus.HeaderRequestID); id == "" || e.RequestID != id {
		t.Errorf("request_id %q, in the header %q", e.RequestID, id)
	}
	if e.Instance != a.path {
		t.Errorf("instance %q, want %q", e.Instance, a.path)
	}
}

// truncated returns text, truncated to 600 bytes.
func truncated(text string) string {
	if len(text) > 600 {
		return text[:600] + "…"
	}
	return text
}

// plain returns a copy of c that sends $ literally.
func (c *client) plain() *client {
	other := *c
	other.word = "$"
	return &other
}

// word returns a random word.
func word() string { return strings.ToLower(rand.Text()[:12]) }
