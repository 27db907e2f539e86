package bustest

import (
	"net"
	"sync"
	"testing"
)

// Link starts a proxy to the address and returns the address of the proxy. From cut until
// heal it forwards nothing and closes no connection, like a suspended host.
func Link(t testing.TB, target string) (address string, cut, heal func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Must(t, err)
	l := &link{ended: make(chan struct{})}
	l.running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			l.running.Go(func() { l.join(client, target) })
		}
	})
	isCut := false
	cut = func() { l.whole.Lock(); isCut = true }
	heal = func() { l.whole.Unlock(); isCut = false }
	t.Cleanup(func() {
		if isCut {
			heal()
		}
		_ = listener.Close() // the test has ended
		close(l.ended)
		l.running.Wait()
	})
	return listener.Addr().String(), cut, heal
}

type link struct {
	whole   sync.RWMutex // write-locked while the link is cut
	running sync.WaitGroup
	ended   chan struct{}
}

// join forwards in both directions between from and a new connection to address.
func (l *link) join(client net.Conn, address string) {
	defer func() { _ = client.Close() }() // may already be closed
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { l.copy(server, client) })
	both.Go(func() { l.copy(client, server) })
	l.running.Go(func() { <-l.ended; _, _ = client.Close(), server.Close() })
	both.Wait()
}

func (l *link) copy(target, source net.Conn) {
	defer func() { _, _ = target.Close(), source.Close() }() // the end of either connection ends both
	buffer := make([]byte, 32<<10)
	for {
		n, err := source.Read(buffer)
		if err != nil {
			return
		}
		l.whole.RLock()
		_, err = target.Write(buffer[:n])
		l.whole.RUnlock()
		if err != nil {
			return
		}
	}
}
