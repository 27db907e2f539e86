package bucket

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

const flushTTL = "60s" // of a marker, for a Flusher that does not purge it

// Flusher makes the server write acknowledged messages of a stream to the operating system, so that
// they survive a crash of the server's process. It may be used concurrently.
//
// A server that syncs each message (sync_interval: always) offers a stream two modes: default, which
// calls fsync before each acknowledgement, and async, which acknowledges a message that is still in
// the memory of the process. There is no intermediate mode. A purge that removes a message writes
// everything pending before the server replies, without fsync (nats-server, filestore.go, PurgeEx);
// so a flush purges a marker that was published for this purpose. Concurrent writers share a flush.
type Flusher struct {
	js      jetstream.JetStream
	purges  string // subject of purge requests
	request []byte // purges the marker
	marker  *nats.Msg
	flush   *coalescer
}

// NewFlusher returns a Flusher of the named bucket with the stream s, or nil if the
// stream is not in async persist mode, in which the server acknowledges messages before it writes them. It
// waits until the cluster of the stream is ready, or ctx ends.
func NewFlusher(ctx context.Context, js jetstream.JetStream, name string, s jetstream.Stream) (*Flusher, error) {
	if s.CachedInfo().Config.PersistMode != jetstream.AsyncPersistMode {
		return nil, nil
	}
	marker := nats.NewMsg(SubjectPrefix + name + ".=flush." + nuid.Next())
	marker.Header.Set(jetstream.MsgTTLHeader, flushTTL)
	request, _ := json.Marshal(map[string]string{"filter": marker.Subject}) // strings can be encoded
	f := &Flusher{js: js, purges: "$JS.API.STREAM.PURGE." + StreamPrefix + name, request: request, marker: marker, flush: newCoalescer()}
	what := fmt.Sprintf("flush bucket %s (needs the permission to publish to %s)", name, f.purges)
	return f, WaitReady(ctx, js, what, func() error { return f.Flush(ctx) })
}

// Flush returns when every message that was acknowledged before the call is written. It is a no-op on
// a nil Flusher.
func (f *Flusher) Flush(ctx context.Context) error {
	if f == nil {
		return nil
	}
	_, err := f.flush.do(ctx, f.run)
	return err
}

func (f *Flusher) run(ctx context.Context) (uint64, error) {
	purged, err := f.purge(ctx)
	if err == nil && purged == 0 { // the marker was not published or stored yet, or has expired
		if _, err = f.js.PublishMsg(ctx, f.marker); err == nil {
			purged, err = f.purge(ctx)
		}
		if err == nil && purged == 0 {
			err = fmt.Errorf("the marker %s is missing", f.marker.Subject)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("flush: %w", err)
	}
	_ = f.js.Conn().PublishMsg(f.marker) // the next flush publishes the marker if this fails
	return 0, nil
}

// purge purges the marker and returns how many messages were removed. If none was removed, the server
// has written nothing.
func (f *Flusher) purge(ctx context.Context) (int, error) {
	reply, err := f.js.Conn().RequestWithContext(ctx, f.purges, f.request)
	if err != nil {
		return 0, err
	}
	var answer struct {
		Error  *jetstream.APIError `json:"error"`
		Purged int                 `json:"purged"`
	}
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		return 0, fmt.Errorf("read the reply to a purge: %w", err)
	}
	if answer.Error != nil {
		return 0, answer.Error
	}
	return answer.Purged, nil
}
