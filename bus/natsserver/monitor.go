package natsserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"cairn/bus/bucket"
)

const (
	// monitorInterval is the interval at which the server checks its streams.
	monitorInterval = time.Second
	// minUptime is the minimum time from the start to a restart, which bounds the rate of restarts.
	minUptime = 15 * time.Second
	// probeBytes is the size of the file that must be stored before a restart: a block of a stream (nats-server,
	// FileStoreMaxBlkSize) and a record. So neither a full disk nor a limit of file sizes causes repeated restarts.
	probeBytes = 10 << 20
)

// monitor detects streams that refuse writes. After a failed write, such as on a full disk, the server stores no
// messages of the stream until it is restarted, and does not reply to publishers (nats-server, stream.go,
// setWriteErr). The monitor replies for a stand-alone server; in a cluster another node becomes the leader of
// the stream.
type monitor struct {
	server  *Server
	problem atomic.Pointer[string] // nil: all streams store messages
	refused map[string]bool        // subjects whose requests conn refuses
	conn    *nats.Conn             // of refused; nil: none
	cancel  context.CancelFunc
	done    sync.WaitGroup
}

// startMonitor runs a monitor of the server. The caller stops it.
func startMonitor(s *Server) *monitor {
	ctx, cancel := context.WithCancel(context.Background())
	m := &monitor{server: s, refused: map[string]bool{}, cancel: cancel}
	m.done.Go(func() { m.run(ctx) })
	return m
}

func (m *monitor) stop() {
	m.cancel()
	m.done.Wait()
	if m.conn != nil {
		m.conn.Close()
	}
}

// run checks the streams until ctx ends or the server must be restarted.
func (m *monitor) run(ctx context.Context) {
	began, last := time.Now(), "" // the last problem
	tick := time.NewTicker(monitorInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		problem := m.check()
		if problem == "" && m.server.node == "" {
			problem = last // until a restart, because the monitor refuses writes to the stream
		}
		if problem == "" {
			m.problem.Store(nil)
			continue
		}
		last = problem
		err := writable(m.server.dir, probeBytes)
		if err != nil {
			if errno, ok := errors.AsType[syscall.Errno](err); ok {
				err = errno // without the path
			}
			problem += fmt.Sprintf("; its data directory stores no file of %d MiB: %v", probeBytes>>20, err)
		}
		if m.problem.Swap(&problem) == nil {
			m.server.log.Error("writes are refused", "err", problem, "data", m.server.dir)
		}
		if err != nil || time.Since(began) < minUptime {
			continue
		}
		m.server.log.Warn("the data directory stores files again: the server must be restarted")
		m.server.recovered()
		return
	}
}

// check describes a stream that refuses writes. It returns "" if there is none.
func (m *monitor) check() (problem string) {
	if m.server.ns.JetStreamEnabled() {
		for _, e := range m.server.ns.Healthz(&server.HealthzOptions{Details: true}).Errors {
			_, cause, ok := strings.Cut(e.Error, "write error: ")
			if !ok {
				continue
			}
			cause = strings.TrimSpace(cause[strings.LastIndexByte(cause, ':')+1:]) // without the path of a file
			problem = "the NATS server stores no messages of stream " + e.Stream + ": " + cause
			if name, ok := strings.CutPrefix(e.Stream, bucket.StreamPrefix); ok {
				m.refuse(cause, bucket.SubjectPrefix+name+".>")
			}
		}
	} else if m.server.node == "" || clustered(m.server.dir) { // a node that was removed deletes its meta log
		const cause = "its disk is full or not writable"
		problem = "the NATS server has disabled JetStream: " + cause
		m.refuse(cause, bucket.SubjectPrefix+">", "$JS.API.STREAM.>", "$JS.API.CONSUMER.>")
	}
	return problem
}

// refuse replies to the requests of the subjects for a stand-alone server.
func (m *monitor) refuse(cause string, subjects ...string) {
	if m.server.node != "" {
		return
	}
	refusal, err := json.Marshal(map[string]any{
		"error": server.ApiError{Code: 503, ErrCode: uint16(server.JSStreamStoreFailedF), Description: cause},
	})
	if m.conn == nil && err == nil {
		m.conn, err = nats.Connect("", nats.InProcessServer(m.server.ns), nats.Token(m.server.secret))
	}
	for _, subject := range subjects {
		if err == nil && !m.refused[subject] {
			_, err = m.conn.Subscribe(subject, func(msg *nats.Msg) { _ = msg.Respond(refusal) })
			m.refused[subject] = err == nil
		}
	}
	if err != nil {
		m.server.log.Warn("writes are refused without a reply", "err", err)
	}
}
