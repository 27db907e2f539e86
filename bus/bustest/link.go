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
	p, err := OpenProxy(target)
	Must(t, err)
	t.Cleanup(func() { _ = p.Close() }) // the test has ended
	return p.Address(), func() { p.Cut(Forward); p.Cut(Backward) }, p.Heal
}

// Direction is a direction of a [Proxy].
type Direction int

// Directions of a [Proxy].
const (
	Forward  Direction = iota // from the client that dials to the target
	Backward                  // from the target
)

// Proxy is a proxy to an address. In a direction that is cut it forwards nothing and closes
// no connection, like a partitioned network. It may be used concurrently.
type Proxy struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu    sync.Mutex
	whole [2]chan struct{} // by direction; closed unless it is cut
	conns map[net.Conn]bool
}

// OpenProxy starts a proxy to the target. The caller closes it.
func OpenProxy(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: listener, target: target, conns: map[net.Conn]bool{}}
	for d := range p.whole {
		p.whole[d] = make(chan struct{})
		close(p.whole[d])
	}
	p.running.Go(p.accept)
	return p, nil
}

// Address returns the address that clients dial.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

func (p *Proxy) accept() {
	for {
		from, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.join(from) })
	}
}

// join forwards in both directions between from and a new connection to the target.
func (p *Proxy) join(from net.Conn) {
	defer p.drop(from)
	if !p.hold(from) {
		return
	}
	to, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer p.drop(to)
	if !p.hold(to) {
		return
	}
	var back sync.WaitGroup
	back.Go(func() { p.copy(from, to, Backward) })
	p.copy(to, from, Forward)
	back.Wait()
}

// copy forwards until either connection ends, and then closes both.
func (p *Proxy) copy(to, from net.Conn, d Direction) {
	defer func() { _, _ = to.Close(), from.Close() }() // may already be closed
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		whole := p.whole[d]
		p.mu.Unlock()
		<-whole
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *Proxy) hold(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns == nil {
		_ = c.Close() // the proxy is closed
		return false
	}
	p.conns[c] = true
	return true
}

func (p *Proxy) drop(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = c.Close() // may already be closed
	delete(p.conns, c)
}

// Cut stops forwarding in the direction.
func (p *Proxy) Cut(d Direction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.whole[d]:
		p.whole[d] = make(chan struct{})
	default: // already cut
	}
}

// Heal resumes forwarding, beginning with the data that was held back.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, whole := range p.whole {
		select {
		case <-whole:
		default:
			close(whole)
		}
	}
}

// Close ends all connections.
func (p *Proxy) Close() error {
	p.Heal()
	err := p.listener.Close()
	p.mu.Lock()
	for c := range p.conns {
		_ = c.Close() // unblocks join
	}
	p.conns = nil
	p.mu.Unlock()
	p.running.Wait()
	return err
}
