package bus

import (
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	heartbeatInterval = 250 * time.Millisecond // of a request
	// streamHeartbeatInterval is the interval of a stream's heartbeats. One without a subscriber
	// starts the grace period of a run and cancels other streams, so that a client that
	// disconnects before it knows the control subject is detected within a second.
	streamHeartbeatInterval = 500 * time.Millisecond
	streamHeartbeatTimeout  = 6 * time.Second // of a client, for the next message of a stream
)

// heartbeat calls a function at an interval. It may be used concurrently.
type heartbeat struct {
	mu    sync.Mutex
	timer *time.Timer // nil: stopped
}

// start begins to call send.
func (h *heartbeat) start(interval time.Duration, send func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timer = time.AfterFunc(interval, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.timer != nil {
			send()
			h.timer.Reset(interval)
		}
	})
}

// stop returns when send no longer runs.
func (h *heartbeat) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.timer != nil {
		h.timer.Stop()
		h.timer = nil
	}
}

func isHeartbeat(msg *nats.Msg) bool { return msg.Header.Get(HeaderHeartbeat) != "" }
