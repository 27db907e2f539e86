package bus

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"cairn/bus/bucket"
	"cairn/bus/retry"
	"cairn/bus/telemetry"
	"cairn/schemas"
)

const (
	writeInterval = 10 * time.Second // of a WriteMonitor
	writeTimeout  = 5 * time.Second
)

// WriteMonitor writes to a bucket every 10 s, so that the health of a service reports a NATS server that stores no
// messages, as with a full disk, before a client is refused. It may be used concurrently.
type WriteMonitor struct {
	bucket, store string
	problem       atomic.Pointer[string] // nil: the last message was stored
	cancel        context.CancelFunc
	done          sync.WaitGroup
}

// MonitorWrites monitors the named bucket, which messages call store, such as "tag store". The caller closes the
// monitor.
func MonitorWrites(conn *Conn, name, store string) *WriteMonitor {
	ctx, cancel := context.WithCancel(context.Background())
	m := &WriteMonitor{bucket: name, store: store, cancel: cancel}
	writable := telemetry.BucketWritable.WithLabelValues(name)
	writable.Set(1)
	m.done.Go(func() {
		for retry.Sleep(ctx, writeInterval) == nil {
			if m.write(ctx, conn); m.problem.Load() == nil {
				writable.Set(1)
			} else {
				writable.Set(0)
			}
		}
	})
	return m
}

// Close stops the monitor.
func (m *WriteMonitor) Close() {
	m.cancel()
	m.done.Wait()
}

// Problems describes the failure of the last write, if any.
func (m *WriteMonitor) Problems() []string {
	if problem := m.problem.Load(); problem != nil {
		return []string{*problem}
	}
	return nil
}

func (m *WriteMonitor) write(ctx context.Context, conn *Conn) {
	limited, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	err := bucket.WithReplyMargin(limited, m.store, func(ctx context.Context) error {
		return bucket.WriteFence(ctx, conn.JetStream(), m.bucket)
	})
	if err == nil || ctx.Err() != nil {
		m.problem.Store(nil)
		return
	}
	problem := m.store + ": " + err.Error()
	if e, ok := errors.AsType[*schemas.Error](err); ok {
		problem = e.Detail
	}
	if m.problem.Swap(&problem) == nil {
		slog.Error("writes are refused", "bucket", m.bucket, "err", err)
	}
}
