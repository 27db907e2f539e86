package main

import (
	"net"
	"sync"
)

// direction is a direction of a link.
type direction int

const (
	forward  direction = iota // from the node that dials to the target
	backward                  // from the target
)

// link is a proxy to a node. In a direction that is cut it forwards nothing and closes
// no connection, like a partitioned network.
type link struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu    sync.Mutex
	whole [2]chan struct{} // by direction; closed unless it is cut
	conns map[net.Conn]bool
}

func newLink(target string) (*link, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &link{listener: listener, target: target, conns: map[net.Conn]bool{}}
	for d := range l.whole {
		l.whole[d] = make(chan struct{})
		close(l.whole[d])
	}
	l.running.Go(l.accept)
	return l, nil
}

func (l *link) accept() {
	for {
		from, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.running.Go(func() { l.join(from) })
	}
}

// join forwards in both directions between from and a new connection to the target.
func (l *link) join(from net.Conn) {
	defer l.drop(from)
	if !l.hold(from) {
		return
	}
	to, err := net.Dial("tcp", l.target)
	if err != nil {
		return
	}
	defer l.drop(to)
	if !l.hold(to) {
		return
	}
	var back sync.WaitGroup
	back.Go(func() { l.copy(from, to, backward) })
	l.copy(to, from, forward)
	back.Wait()
}

// copy forwards until either connection ends, and then closes both.
func (l *link) copy(to, from net.Conn, d direction) {
	defer func() { _, _ = to.Close(), from.Close() }() // may already be closed
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		l.mu.Lock()
		whole := l.whole[d]
		l.mu.Unlock()
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

func (l *link) hold(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns == nil {
		_ = c.Close() // the link is closed
		return false
	}
	l.conns[c] = true
	return true
}

func (l *link) drop(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = c.Close() // may already be closed
	delete(l.conns, c)
}

// cut stops forwarding in the direction.
func (l *link) cut(d direction) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.whole[d]:
		l.whole[d] = make(chan struct{})
	default: // already cut
	}
}

// heal resumes forwarding, beginning with the data that was held back.
func (l *link) heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, whole := range l.whole {
		select {
		case <-whole:
		default:
			close(whole)
		}
	}
}

func (l *link) close() error {
	l.heal()
	err := l.listener.Close()
	l.mu.Lock()
	for c := range l.conns {
		_ = c.Close() // unblocks join
	}
	l.conns = nil
	l.mu.Unlock()
	l.running.Wait()
	return err
}
