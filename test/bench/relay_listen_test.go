package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// monotonic returns the time of a clock that all processes of the machine share.
func monotonic() time.Duration {
	const clock = 1 // CLOCK_MONOTONIC
	var t syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		panic(errno)
	}
	return time.Duration(t.Nano())
}

// listeners are clients that receive all streams of a relay.
type listeners struct {
	server
	path     string
	resident float64 // maximum RSS of the server while they listened, in bytes
}

// received is the received part of one stream.
type received struct {
	requested time.Duration
	tokens    []token // in the order of arrival
	ended     bool    // with the final event
	err       error
}

// token is a received token with the times at which it was due and received.
type token struct {
	number    int
	due, came time.Duration
}

// listen receives the given number of streams, whose starts are spread over the ramp, until all have ended.
func (l *listeners) listen(b *testing.B, streams, tokens int, ramp time.Duration) []received {
	b.Helper()
	all := make([]received, streams)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var listening sync.WaitGroup
		began := time.Now()
		for i := range all {
			listening.Go(func() {
				time.Sleep(time.Until(began.Add(ramp * time.Duration(i) / time.Duration(streams))))
				all[i].err = all[i].receive(l.address, l.path, tokens)
			})
		}
		listening.Wait()
	}()
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-ended:
			return all
		case <-look.C:
			l.resident = max(l.resident, memoryOf(b, l.server.pids[0], "VmRSS"))
		}
	}
}

// receive requests a stream and reads it to its end.
func (h *received) receive(address, path string, tokens int) error {
	h.requested = monotonic()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	c := client{conn: conn, in: bufio.NewReader(conn)}
	body, err := json.Marshal(map[string]string{"query": strconv.Itoa(tokens), "context": "{}", "target": "H"})
	if err != nil {
		return err
	}
	res, err := c.send(call{http.MethodPost, path, string(body)})
	if err != nil {
		return err
	}
	h.tokens = make([]token, 0, tokens)
	origin, began := monotonic(), time.Now()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); ok {
			h.take(string(data), origin+time.Since(began))
		}
	}
	return lines.Err()
}

func (h *received) take(data string, now time.Duration) {
	h.ended = data == "{}"
	text := strings.TrimSuffix(strings.TrimPrefix(data, `{"text":"`), `"}`)
	number, due, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		return // not a token
	}
	d, err := strconv.ParseInt(due, 10, 64)
	if err != nil {
		return
	}
	h.tokens = append(h.tokens, token{n, time.Duration(d), now})
}

// faults describes lost, duplicate and reordered tokens and truncated streams; "" if none.
func faults(all []received, tokens int) string {
	var lost, doubled, unordered, cut int
	var err error
	for _, h := range all {
		seen := make([]bool, tokens)
		for i, t := range h.tokens {
			if seen[t.number] {
				doubled++
			}
			seen[t.number] = true
			if i > 0 && t.number < h.tokens[i-1].number {
				unordered++
			}
		}
		for _, s := range seen {
			if !s {
				lost++
			}
		}
		if !h.ended {
			cut++
		}
		if h.err != nil {
			err = h.err
		}
	}
	if lost+doubled+unordered+cut == 0 && err == nil {
		return ""
	}
	return fmt.Sprintf("%d tokens lost, %d doubled, %d out of order, %d streams cut: %v", lost, doubled, unordered, cut,
		err)
}

// steady returns the sorted delays of the tokens that were due while all streams ran.
func steady(all []received) []time.Duration {
	var from, until time.Duration
	for i, h := range all {
		from = max(from, h.tokens[0].due)
		if last := h.tokens[len(h.tokens)-1].due; i == 0 || last < until {
			until = last
		}
	}
	var delays []time.Duration
	for _, h := range all {
		for _, t := range h.tokens {
			if t.due >= from && t.due <= until {
				delays = append(delays, t.came-t.due)
			}
		}
	}
	slices.Sort(delays)
	return delays
}
