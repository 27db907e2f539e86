package main

import (
	"net"
	"os"
	"testing"
	"time"
)

// A link that is cut in one direction forwards in the other, and after heal delivers what
// it held back.
func TestLinkOneWay(t *testing.T) {
	t.Parallel()
	for _, d := range []direction{forward, backward} {
		dialed, accepted, l := linked(t)
		from, to := dialed, accepted
		if d == backward {
			from, to = accepted, dialed
		}
		l.cut(d)
		l.cut(d)
		send(t, to, "other direction")
		expect(t, from, "other direction")
		send(t, from, "held back")
		if err := to.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if n, err := to.Read(make([]byte, 1)); !os.IsTimeout(err) {
			t.Fatalf("direction %d: %d bytes, %v through a cut link", d, n, err)
		}
		l.heal()
		expect(t, to, "held back")
	}
}

// linked returns both ends of a connection through a link.
func linked(t *testing.T) (dialed, accepted net.Conn, l *link) {
	t.Helper()
	target, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = target.Close() })
	if l, err = newLink(target.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.close() })
	if dialed, err = net.Dial("tcp", l.listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if accepted, err = target.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = dialed.Close(), accepted.Close() })
	return dialed, accepted, l
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(text))
	for n := 0; n < len(got); {
		more, err := c.Read(got[n:])
		if err != nil {
			t.Fatalf("got %q, want %q: %v", got[:n], text, err)
		}
		n += more
	}
	if string(got) != text {
		t.Fatalf("got %q, want %q", got, text)
	}
}
