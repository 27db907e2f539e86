package edge

import (
	"errors"
	"log/slog"
	"net"
	"net/http"

	"cairn/bus/admission"
)

const (
	// defaultConnections is Config.Connections when it is 0.
	defaultConnections = 16 << 10
	// monitorConnections bounds the connections of a Monitor.
	monitorConnections = 32
)

// limitedListener bounds the open connections and divides them among client addresses.
// It closes those beyond the limit immediately. The server must call track for each change
// of a connection's state.
type limitedListener struct {
	net.Listener
	open *admission.Pool
	log  *slog.Logger
}

func newLimitedListener(l net.Listener, connections int64, log *slog.Logger) *limitedListener {
	return &limitedListener{l, admission.NewPool(connections), log}
}

// Accept implements net.Listener. It logs errors, after which net/http retries; the
// logger limits repeated lines.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				l.log.Warn("accept connection failed", "err", err)
			}
			return nil, err
		}
		address := clientAddress(conn.RemoteAddr().String())
		if l.open.Acquire(address, 1) {
			return conn, nil
		}
		_ = conn.Close() // nothing was sent
		l.log.Warn("connection limit reached", "address", address, "open", l.open.Used())
	}
}

// track releases a closed connection. It is a hook of the server and not a wrapper of the
// connection, because net/http needs the *net.TCPConn to close one direction first.
func (l *limitedListener) track(c net.Conn, state http.ConnState) {
	if state == http.StateClosed || state == http.StateHijacked {
		l.open.Release(clientAddress(c.RemoteAddr().String()), 1)
	}
}
