package backup

import (
	"context"
	"encoding/json" // encodes the durations of a stream configuration as numbers
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus"
	"cairn/bus/bucket"
)

const idleTimeout = 2 * time.Second // time without a message after which save compares its position with the stream

// pauseTimeout bounds the wait for a pause between writes after most of the stream was read. A pause
// of a few milliseconds suffices.
const pauseTimeout = time.Minute

// Save writes a backup of the account of conn, and of the API keys in the account of keys,
// to w, without blocking readers or writers. Each bucket except the tags is a consistent prefix of
// its log. The error is ErrNothing for a server without a catalog. progress, unless nil, is
// called with the number of messages that were read, and of those that exist at the start.
func Save(ctx context.Context, conn, keys *bus.Conn, w io.Writer, progress func(read, total int)) (Summary, error) {
	h := Header{Version: Version, Created: time.Now().UTC().Truncate(time.Second), Cairn: bus.Version}
	var streams []jetstream.Stream
	s := &saving{progress: progress}
	for _, name := range buckets {
		source, err := jetStream(name, conn, keys).Stream(ctx, stream(name))
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			if name == bucket.Catalog {
				return Summary{}, fmt.Errorf("the NATS server has %w: stream %s does not exist", ErrNothing, stream(name))
			}
			continue
		}
		if err != nil {
			return Summary{}, fmt.Errorf("open bucket %s: %w", name, err)
		}
		config, _ := json.Marshal(source.CachedInfo().Config) // strings, numbers and lists of them can be encoded
		h.Buckets = append(h.Buckets, Bucket{name, config})
		streams = append(streams, source)
		s.total += int(source.CachedInfo().State.Msgs)
	}
	var err error
	if s.out, err = newWriter(w, h); err != nil {
		return Summary{}, err
	}
	for i, source := range streams {
		name := h.Buckets[i].Name
		if err := s.save(ctx, jetStream(name, conn, keys), source, name); err != nil {
			return Summary{}, fmt.Errorf("read bucket %s: %w", name, err)
		}
	}
	if err := s.out.close(); err != nil {
		return Summary{}, err
	}
	return Summary{h, s.out.end}, nil
}

// saving is a backup in progress.
type saving struct {
	out         *writer
	progress    func(read, total int) // nil: not reported
	read, total int                   // messages
}

// save writes the messages of a stream until it has reached the last sequence. A value that
// is replaced before save reads it is missing, but its replacement precedes the last sequence.
func (s *saving) save(ctx context.Context, js jetstream.JetStream, source jetstream.Stream, name string) error {
	if source.CachedInfo().State.Msgs == 0 {
		return nil
	}
	consumer, err := bucket.Ordered(ctx, js, source, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return err
	}
	defer bucket.Release(source, consumer)
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	defer context.AfterFunc(ctx, messages.Stop)()
	var atEnd time.Time // when save first came close to the last sequence
	for reached := uint64(0); ; {
		msg, err := messages.Next(jetstream.NextMaxWait(idleTimeout))
		last := errors.Is(err, nats.ErrTimeout)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !last:
			return err
		case err == nil:
			if reached, last, err = s.take(msg, name); err != nil {
				return err
			}
		}
		if last && name == bucket.Tags { // its last message may have expired
			return nil
		}
		if last { // the pending count may not include the newest messages
			info, err := source.Info(ctx)
			if err != nil || info.State.Msgs == 0 || info.State.LastSeq == reached {
				return err
			}
			if atEnd == (time.Time{}) {
				atEnd = time.Now()
			} else if time.Since(atEnd) > pauseTimeout {
				return fmt.Errorf("no pause between writes for %v; retry under less load", pauseTimeout)
			}
		}
	}
}

// take writes a message and returns its sequence, and whether no further message is pending.
func (s *saving) take(msg jetstream.Msg, name string) (sequence uint64, last bool, err error) {
	if s.read++; s.progress != nil {
		s.progress(s.read, max(s.read, s.total))
	}
	meta, err := msg.Metadata()
	if err != nil {
		return 0, false, err
	}
	sequence = meta.Sequence.Stream
	e := entry{Bucket: name, Key: strings.TrimPrefix(msg.Subject(), subject(name, "")), Revision: sequence,
		Removed: bucket.Removes(msg.Headers())}
	last = meta.NumPending == 0
	if name == bucket.Tags {
		ttl, err := time.ParseDuration(msg.Headers().Get(jetstream.MsgTTLHeader))
		if e.Expires = meta.Timestamp.Add(ttl).UTC(); err != nil || e.Removed || internal(e.Key) {
			return sequence, last, nil
		}
	}
	return sequence, last, s.out.add(e, msg.Data())
}
