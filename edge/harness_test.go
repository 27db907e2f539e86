package edge_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/edge"
	"cairn/schemas"
)

func TestMain(m *testing.M) {
	bus.Analyze.Grace = time.Minute // a busy machine takes long to restart a NATS server
	goleak.VerifyTestMain(m)
}

// testEdge is a running edge with a stub service.
type testEdge struct {
	url     string
	secure  bool // hold connects with TLS
	conn    *bus.Conn
	service *bus.Service
	client  *http.Client
	stop    context.CancelFunc
	stopped chan struct{} // closed when Serve returns
	served  error         // error of Serve, once stopped is closed
}

// open starts an edge on a separate server.
func open(t testing.TB, change ...func(*edge.Config)) *testEdge {
	t.Helper()
	server, conn := bustest.Start(t)
	f := serve(t, conn, change...)
	f.service = bustest.Service(t, bustest.Dial(t, server), "stub")
	return f
}

// serve starts an edge on conn and stops it with the test.
func serve(t testing.TB, conn *bus.Conn, change ...func(*edge.Config)) *testEdge {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	config := edge.Config{Listener: listener, Conn: conn, Log: slog.New(slog.DiscardHandler), Drain: 5 * time.Second}
	for _, c := range change {
		c(&config)
	}
	ctx, stop := context.WithCancel(context.Background())
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	f := &testEdge{
		url: "http://" + listener.Addr().String(), conn: conn, stop: stop, stopped: make(chan struct{}),
		client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}},
	}
	go func() {
		defer close(f.stopped)
		if f.served = edge.Serve(ctx, config); f.served != nil && !errors.Is(f.served, bus.ErrDrainTimeout) {
			t.Errorf("Serve: %v", f.served)
		}
	}()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		stop()
		<-f.stopped
	})
	return f
}

// dial opens a TCP connection to the edge.
func (f *testEdge) dial(t testing.TB) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	must(t, conn.(*net.TCPConn).SetReadBuffer(64<<10)) // otherwise the kernel may buffer 7 MB that the test does not read
	return conn
}

// lockedBuffer is a buffer for concurrent use.
type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// answer is a response of the edge.
type answer struct {
	status int
	header http.Header
	body   string
}

// newRequest returns a request of the target, such as "GET /health"; headers are given as "Name: value".
func (f *testEdge) newRequest(ctx context.Context, t testing.TB, target string, body io.Reader,
	headers []string) *http.Request {
	t.Helper()
	method, path, _ := strings.Cut(target, " ")
	req, err := http.NewRequestWithContext(ctx, method, f.url+path, body)
	must(t, err)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	return req
}

// open sends a request, and returns the response when its header has arrived.
func (f *testEdge) open(t testing.TB, target string, body io.Reader, headers ...string) *http.Response {
	t.Helper()
	res, err := f.client.Do(f.newRequest(t.Context(), t, target, body, headers))
	if err != nil {
		t.Fatalf("%s: %v", target, err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// request sends a request; headers are given as "Name: value".
func (f *testEdge) request(t testing.TB, method, path string, body io.Reader, headers ...string) answer {
	t.Helper()
	res := f.open(t, method+" "+path, body, headers...)
	content, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		t.Fatalf("%s %s: read the answer: %v", method, path, err)
	}
	return answer{res.StatusCode, res.Header, string(content)}
}

// disconnect sends a POST request, and disconnects when entered has a value or is closed.
func (f *testEdge) disconnect(t testing.TB, path string, body io.Reader, entered <-chan struct{}, headers ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req := f.newRequest(ctx, t, "POST "+path, body, headers)
	ended := make(chan error)
	go func() {
		res, err := f.client.Do(req)
		if err == nil {
			_, err = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
		}
		ended <- err
	}()
	<-entered
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%s of a client that disconnects: %v", path, err)
	}
}

// problem returns the error body of the response.
func (a answer) problem(t testing.TB) schemas.Error {
	t.Helper()
	var e schemas.Error
	if err := json.Unmarshal([]byte(a.body), &e); err != nil {
		t.Fatalf("error body %q: %v", a.body, err)
	}
	return e
}

// must fails the test on an error of its setup.
func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
