package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// client is one keep-alive connection. It implements as little of HTTP as possible, because
// only the server is measured.
type client struct {
	conn net.Conn
	in   *bufio.Reader
	out  bytes.Buffer
	key  string // API key; empty: none
}

func dial(b *testing.B, address string) *client {
	b.Helper()
	conn, err := net.Dial("tcp", address)
	must(b, err)
	b.Cleanup(func() { _ = conn.Close() })
	return &client{conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}
}

// send sends a request and reads the header of the response.
func (c *client) send(r call) (*http.Response, error) {
	c.out.Reset()
	c.out.WriteString(r.method + " " + r.path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n")
	if c.key != "" {
		c.out.WriteString("Authorization: Bearer " + c.key + "\r\n")
	}
	c.out.WriteString("Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: " +
		strconv.Itoa(len(r.body)) + "\r\n\r\n" + r.body)
	if _, err := c.conn.Write(c.out.Bytes()); err != nil {
		return nil, err
	}
	return http.ReadResponse(c.in, nil)
}

// do sends a request, reads the whole response and returns its status.
func (c *client) do(r call) (int, error) {
	res, err := c.send(r)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

// post sends a request and reads the whole response, which must have the status.
func (c *client) post(path, body string, status int) error {
	got, err := c.do(call{http.MethodPost, path, body})
	if err == nil && got != status {
		err = fmt.Errorf("%s: %d, want %d", path, got, status)
	}
	return err
}

// side is one side of a comparison.
type side struct {
	server
	path     string
	status   int
	body     func(n int) string
	key      string // API key of the clients
	clients  []*client
	received int // number of requests so far
}

func newSide(b *testing.B, target server, connections int, s side) *side {
	b.Helper()
	s.server = target
	for range connections {
		c := dial(b, target.address)
		c.key = s.key
		s.clients = append(s.clients, c)
	}
	return &s
}

// result is the result of a round.
type result struct {
	took    []time.Duration // sorted
	elapsed time.Duration
	work    float64 // CPU time of the server per request, in microseconds
}

func (r result) at(share float64) float64 {
	return float64(r.took[int(share*float64(len(r.took)-1))].Nanoseconds()) / 1000
}

func (r result) rate() float64 { return float64(len(r.took)) / r.elapsed.Seconds() }

// round sends n requests over all connections.
func (s *side) round(b *testing.B, n int) result {
	b.Helper()
	each := n / len(s.clients)
	took := make([][]time.Duration, len(s.clients))
	bodies := make([][]string, len(s.clients))
	for i := range s.clients {
		for range each {
			bodies[i] = append(bodies[i], s.body(s.received))
			s.received++
		}
	}
	worked, began := s.cpuTime(b), time.Now()
	var running sync.WaitGroup
	for i, c := range s.clients {
		running.Go(func() {
			for _, body := range bodies[i] {
				sent := time.Now()
				if err := c.post(s.path, body, s.status); err != nil {
					b.Error(err)
					return
				}
				took[i] = append(took[i], time.Since(sent))
			}
		})
	}
	running.Wait()
	elapsed := time.Since(began)
	if b.Failed() {
		b.FailNow()
	}
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	return result{all, elapsed, (s.cpuTime(b) - worked) / float64(len(all))}
}

// compare sends n requests to both sides in each round, after a warm-up round.
func compare(b *testing.B, n int, cairn, baseline *side) (c, r []result) {
	b.Helper()
	cairn.round(b, n)
	baseline.round(b, n)
	for i := range rounds(b) {
		if i%2 == 0 {
			c, r = append(c, cairn.round(b, n)), append(r, baseline.round(b, n))
		} else {
			r, c = append(r, baseline.round(b, n)), append(c, cairn.round(b, n))
		}
	}
	return c, r
}

func each(results []result, figure func(result) float64) []float64 {
	figures := make([]float64, len(results))
	for i, r := range results {
		figures[i] = figure(r)
	}
	return figures
}

func work(r result) float64 { return r.work }
func p50(r result) float64  { return r.at(0.50) }
func p99(r result) float64  { return r.at(0.99) }
