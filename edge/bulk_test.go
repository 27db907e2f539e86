package edge_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/edge"
	"cairn/schemas"
	"cairn/test/wait"
)

// stored answers a request to register records with their kinds as ids.
func stored(_ context.Context, req schemas.PutRecords) (schemas.RecordResults, error) {
	var all schemas.RecordResults
	for i := range req.Records {
		put, _ := req.Put(i)
		all.Results = append(all.Results, schemas.RecordResult{Kind: put.Kind, ID: put.ID})
	}
	return all, nil
}

// serveBulk starts an edge with a worker that answers bulks with handle.
func serveBulk(t *testing.T, handle func(context.Context, schemas.PutRecords) (schemas.RecordResults, error),
	change ...func(*edge.Config)) *testEdge {
	t.Helper()
	f := open(t, change...)
	must(t, bus.PutRecords.Serve(f.service, handle))
	return f
}

// resultsOf decodes the lines of a bulk response.
func resultsOf(t *testing.T, text string) (list []schemas.RecordResult) {
	t.Helper()
	for line := range strings.Lines(text) {
		var r schemas.RecordResult
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		list = append(list, r)
	}
	return list
}

func line(id int) string { return fmt.Sprintf(`{"kind":"tool","id":"a.b.c%d","record":{}}`, id) + "\n" }

func TestBulkKeepsTheOrderOfLines(t *testing.T) {
	t.Parallel()
	var requests, largest atomic.Int64
	f := serveBulk(t, func(ctx context.Context, req schemas.PutRecords) (schemas.RecordResults, error) {
		requests.Add(1)
		largest.Store(max(largest.Load(), int64(len(req.Records))))
		return stored(ctx, req)
	})
	var body strings.Builder
	const n = 3000
	for i := range n {
		body.WriteString(line(i))
	}
	got := f.request(t, "POST", "/records", strings.NewReader(body.String()))
	if got.status != 200 || got.header.Get("Content-Type") != "application/x-ndjson" {
		t.Fatalf("got %d %s", got.status, got.header)
	}
	results := resultsOf(t, got.body)
	if len(results) != n {
		t.Fatalf("got %d results, want %d", len(results), n)
	}
	for i, r := range results {
		if want := fmt.Sprintf("a.b.c%d", i); r.ID != want {
			t.Fatalf("result %d: got %q, want %q", i, r.ID, want)
		}
	}
	if requests.Load() == n || largest.Load() > schemas.MaxBulk {
		t.Errorf("got %d requests with at most %d records, want batches of at most %d", requests.Load(), largest.Load(),
			schemas.MaxBulk)
	}
}

func TestBulkLines(t *testing.T) {
	t.Parallel()
	f := serveBulk(t, stored)
	const tooLong = 1 << 20
	for _, row := range []struct {
		name, query, body string
		want              []string // id or error code of each result
	}{
		{"no line", "", "", nil},
		{"blank lines have no result", "", "\n \r\n\n", nil},
		{"64 KiB of blank lines", "", strings.Repeat("\n", 64<<10) + line(1), []string{"a.b.c1"}},
		{"64 KiB of blank lines between records", "",
			line(1) + strings.Repeat("\n", 64<<10) + line(2) + strings.Repeat("\n", 64<<10),
			[]string{"a.b.c1", "a.b.c2"}},
		{"more blank lines", "", line(1) + strings.Repeat("\n", 64<<10+1) + line(2), []string{"a.b.c1", "CE-002"}},
		{"a blank line that is too long", "", line(1) + strings.Repeat(" ", tooLong) + "\n" + line(2),
			[]string{"a.b.c1", "CE-002"}},
		{"a last line without an end", "", strings.TrimSpace(line(1)), []string{"a.b.c1"}},
		{"lines that end with CRLF", "", strings.TrimSpace(line(1)) + "\r\n" + line(2), []string{"a.b.c1", "a.b.c2"}},
		{"a line that is not JSON", "", line(1) + "{\n" + line(2), []string{"a.b.c1", "CE-061", "a.b.c2"}},
		{"a member that appears twice", "", line(1) + `{"kind":"tool","record":{"a":1,"a":2}}` + "\n" + line(2),
			[]string{"a.b.c1", "CE-061", "a.b.c2"}},
		{"a deeply nested line", "", strings.Repeat("[", 999) + strings.Repeat("]", 999) + "\n" + line(2),
			[]string{"CE-061", "a.b.c2"}},
		{"invalid UTF-8", "", line(1) + "{\"kind\":\"\xff\"}\n" + line(2), []string{"a.b.c1", "CE-061", "a.b.c2"}},
		{"a line with members of the request", "", `{}],"strict":true,"x":[{}` + "\n" + line(2),
			[]string{"CE-061", "a.b.c2"}},
		{"a line that is too long", "", line(1) + `"` + strings.Repeat("x", tooLong) + "\"\n" + line(2),
			[]string{"a.b.c1", "CE-002", "a.b.c2"}},
		{"large lines", "", strings.Repeat(`{"kind":"tool","id":"a.b.c","record":{"x":"`+strings.Repeat("x", tooLong/2)+`"}}`+
			"\n", 5),
			[]string{"a.b.c", "a.b.c", "a.b.c", "a.b.c", "a.b.c"}},
		{"parameters", "?strict=true&tenant_id=acme", line(1), []string{"a.b.c1"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := f.request(t, "POST", "/records"+row.query, strings.NewReader(row.body))
			if got.status != 200 {
				t.Fatalf("got %d %s", got.status, got.body)
			}
			var ids []string
			for _, r := range resultsOf(t, got.body) {
				if r.Error != nil {
					r.ID = r.Error.Code
				}
				ids = append(ids, r.ID)
			}
			if fmt.Sprint(ids) != fmt.Sprint(row.want) {
				t.Errorf("got %v, want %v", ids, row.want)
			}
		})
	}
	for _, query := range []string{"?strict=1", "?records=x", "?kind=tool"} {
		if got := f.request(t, "POST", "/records"+query, strings.NewReader(line(1))); got.status != 400 {
			t.Errorf("%s: got %d %s", query, got.status, got.body)
		}
	}
}

// TestBulkLimitsBlankLines sends only blank lines, without an end of the body.
func TestBulkLimitsBlankLines(t *testing.T) {
	t.Parallel()
	f := serveBulk(t, stored)
	res := response(t, f.unfinished(t, "POST /records HTTP/1.1", 1<<30, strings.Repeat("\n", 64<<10+1)))
	body, err := io.ReadAll(res.Body)
	must(t, err)
	if res.StatusCode != http.StatusRequestEntityTooLarge ||
		!strings.Contains(string(body), "65536 consecutive bytes of blank lines") {
		t.Errorf("got %d %s, want 413 that names the limit", res.StatusCode, body)
	}
}

// countingListener counts the bytes that its connections read, and their deadlines.
type countingListener struct {
	net.Listener
	read, readDeadlines, writeDeadlines atomic.Int64
}

// count makes l the listener of the edge.
func (l *countingListener) count(c *edge.Config) { l.Listener, c.Listener = c.Listener, l }

func (l *countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return countingConn{conn, l}, err
}

type countingConn struct {
	net.Conn
	l *countingListener
}

func (c countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.l.read.Add(int64(n))
	return n, err
}

func (c countingConn) SetReadDeadline(deadline time.Time) error {
	c.l.readDeadlines.Add(1)
	return c.Conn.SetReadDeadline(deadline)
}

func (c countingConn) SetWriteDeadline(deadline time.Time) error {
	if !deadline.IsZero() { // net/http removes it after a response
		c.l.writeDeadlines.Add(1)
	}
	return c.Conn.SetWriteDeadline(deadline)
}

// TestBulkReadDeadlines checks that lines that have arrived set no read deadline.
func TestBulkReadDeadlines(t *testing.T) {
	t.Parallel()
	const lines, maxDeadlines = 60_000, 1000
	var l countingListener
	f := serveBulk(t, stored, l.count)
	f.request(t, "POST", "/records", strings.NewReader(strings.Repeat("\n", lines)))
	if n := l.readDeadlines.Load(); n > maxDeadlines {
		t.Errorf("got %d read deadlines for %d lines, want at most %d", n, lines, maxDeadlines)
	}
}

// TestBulkStreams checks that the result of a line arrives before the next line is sent.
func TestBulkStreams(t *testing.T) {
	t.Parallel()
	f := serveBulk(t, stored)
	in, out := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), "POST", f.url+"/records", in)
	must(t, err)
	answers := make(chan *http.Response, 1)
	go func() {
		res, err := f.client.Do(req)
		if err != nil {
			t.Errorf("POST /records: %v", err)
			close(answers)
			return
		}
		answers <- res
	}()
	var lines *bufio.Scanner
	for i := range 3 {
		if _, err := io.WriteString(out, line(i)); err != nil {
			t.Fatal(err)
		}
		if lines == nil {
			res := <-answers
			if res == nil {
				return
			}
			defer func() { _ = res.Body.Close() }()
			lines = bufio.NewScanner(res.Body)
		}
		if want := fmt.Sprintf("a.b.c%d", i); !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Fatalf("got %q, %v, want %s", lines.Text(), lines.Err(), want)
		}
	}
	_ = out.Close()
	if lines.Scan() || lines.Err() != nil {
		t.Errorf("after the last line: got %q, %v", lines.Text(), lines.Err())
	}
}

// TestBulkReportsFailures checks that the failure of a request to a worker is reported for each of
// its lines, and that the next request is sent.
func TestBulkReportsFailures(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	f := serveBulk(t, func(ctx context.Context, req schemas.PutRecords) (schemas.RecordResults, error) {
		if requests.Add(1) == 1 {
			return schemas.RecordResults{}, schemas.ErrUnavailable.Because("the disk is full")
		}
		return stored(ctx, req)
	})
	first := resultsOf(t, f.request(t, "POST", "/records", strings.NewReader(line(1))).body)
	if len(first) != 1 || first[0].Error == nil || first[0].Error.Code != "CE-011" ||
		!strings.Contains(first[0].Error.Detail, "disk") {
		t.Errorf("got %+v, want the error of the worker", first)
	}
	if next := resultsOf(t, f.request(t, "POST", "/records", strings.NewReader(line(2))).body); len(next) != 1 ||
		next[0].ID != "a.b.c2" {
		t.Errorf("got %+v", next)
	}
}

// TestBulkWaitsForBusyWorkers checks that no line of an admitted bulk is refused while
// every worker is busy.
func TestBulkWaitsForBusyWorkers(t *testing.T) {
	t.Parallel()
	server := bustest.Listen(t)
	f := serve(t, bustest.Dial(t, server))
	nc := bustest.Connect(t, server)
	const refusals = 20 // more than the retries of a single request
	var refused atomic.Int64
	if _, err := nc.Subscribe(bus.PutRecords.Subject, func(m *nats.Msg) {
		reply := nats.NewMsg(m.Reply)
		reply.Data = []byte(`{"results":[{"kind":"tool","id":"a.b.c1"}]}`)
		if refused.Add(1) <= refusals {
			reply.Header.Set(bus.HeaderBusy, "1")
			reply.Header.Set("Nats-Service-Error-Code", "503")
			reply.Data = []byte(`{"code":"CE-011","status":503}`)
		}
		_ = m.RespondMsg(reply)
	}); err != nil {
		t.Fatal(err)
	}
	must(t, nc.Flush())
	got := f.request(t, "POST", "/records", strings.NewReader(line(1)))
	if results := resultsOf(t, got.body); len(results) != 1 || results[0].ID != "a.b.c1" || refused.Load() <= refusals {
		t.Errorf("got %s after %d requests", got.body, refused.Load())
	}
}

// TestBulkStopsWithItsClient checks that no further request is sent to a worker for a client
// that has disconnected.
func TestBulkStopsWithItsClient(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	release := make(chan struct{})
	f := serveBulk(t, func(ctx context.Context, req schemas.PutRecords) (schemas.RecordResults, error) {
		requests.Add(1)
		<-release
		return stored(ctx, req)
	})
	conn := f.dial(t)
	if _, err := io.WriteString(conn,
		"POST /records HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"+line(1)); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the first line is with the worker", func() bool { return requests.Load() == 1 })
	if _, err := io.WriteString(conn, line(2)+line(3)); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	f.stop()
	select {
	case <-f.stopped:
	case <-ctx.Done():
		t.Fatal("the bulk request did not end")
	}
}

// TestBulkEndsOnShutdown checks that a bulk request in progress ends with an error.
func TestBulkEndsOnShutdown(t *testing.T) {
	t.Parallel()
	f := serveBulk(t, stored)
	in, out := io.Pipe()
	defer func() { _ = out.Close() }()
	go func() { _, _ = io.WriteString(out, line(1)) }()
	res := f.open(t, "POST /records", in)
	lines := bufio.NewScanner(res.Body)
	if !lines.Scan() {
		t.Fatalf("no result: %v", lines.Err())
	}
	f.stop()
	if !lines.Scan() || !strings.Contains(lines.Text(), "CE-011") || !strings.Contains(lines.Text(), "shutting down") {
		t.Errorf("got %q, %v, want the error of the shutdown", lines.Text(), lines.Err())
	}
}

// TestBulkKeepsItsConnection sends requests over one connection, which a client does not retry after
// the response to the one before.
func TestBulkKeepsItsConnection(t *testing.T) {
	t.Parallel()
	f := serveBulk(t, stored)
	transport := &http.Transport{MaxConnsPerHost: 1}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	for i := range 2000 {
		res, err := client.Post(f.url+"/records", "application/x-ndjson", strings.NewReader("x\n"))
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		_, err = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("request %d: %d %v", i, res.StatusCode, err)
		}
	}
}

// TestBulkLimitsLongLines sends a line of twice maxLongLine: the request ends after maxLongLine.
func TestBulkLimitsLongLines(t *testing.T) {
	t.Parallel()
	const limit = 8 << 20
	handler := edge.NewHandler(t, edge.Config{Conn: bustest.Open(t), Log: slog.New(slog.DiscardHandler)})
	body := &countingReader{Reader: io.LimitReader(repeated('x'), 2*limit)}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/records", body)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, req)
	if w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(w.Body.String(), "expected lines of at most") {
		t.Errorf("got %d %s, want 413 that names the limit", w.Code, w.Body)
	}
	if body.size > limit+1<<20 {
		t.Errorf("%d bytes were read, want at most some more than %d", body.size, limit)
	}
}

// repeated is a reader of one byte without end.
type repeated byte

func (r repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}

// countingReader counts the bytes that are read.
type countingReader struct {
	io.Reader

	size int
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.size += n
	return n, err
}
