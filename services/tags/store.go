package tags

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
	"cairn/schemas"
)

const (
	// markerTTL is how long a deletion is remembered: the least that a server
	// takes. Nobody watches the bucket, so nobody needs it longer.
	markerTTL = time.Second
	// checkTimeout bounds the question whether the store is there.
	checkTimeout = 2 * time.Second
)

// Store keeps records in a KV bucket in which each key has a time to live. It
// may be used concurrently.
type Store struct {
	js     jetstream.JetStream
	stream jetstream.Stream
	reader *bucket.Reader
	flush  *bucket.Flusher // nil: an acknowledged message is written
	usage  *usage
}

// Close ends the count of tags.
func (s *Store) Close() { s.usage.close() }

// key names a record: what one tenant writes is not in the way of another.
type key struct{ tenant, id string }

func keyOf(tenant *string, id string) key {
	if tenant == nil {
		return key{"", id}
	}
	return key{*tenant, id}
}

// of names the tenant in an error.
func (k key) of() string {
	if k.tenant == "" {
		return ""
	}
	return fmt.Sprintf(" for tenant %q", k.tenant)
}

// subject is where the record of the key is. Any key has one, and no two the
// same: it is the id in base64url, behind that of the tenant, if any.
func (k key) subject() string {
	id := base64.RawURLEncoding.EncodeToString([]byte(k.id))
	if k.tenant == "" {
		return subjects + id
	}
	return subjects + base64.RawURLEncoding.EncodeToString([]byte(k.tenant)) + "." + id
}

// create stores tag for ttl, or answers ErrTagExists, or ErrTooManyRequests when
// the tenant is at its limit. It is one round trip, unless something is or was
// there.
func (s *Store) create(ctx context.Context, k key, tag schemas.Tag, ttl time.Duration) error {
	msg := nats.NewMsg(k.subject())
	msg.Data = encode(tag)
	msg.Header.Set(jetstream.MsgTTLHeader, seconds(ttl))
	until, size := time.Now().Add(ttl), len(msg.Subject)+len(msg.Data)
	if exceeded := s.usage.reserve(k.tenant, size, until); exceeded != nil {
		found, err := s.last(ctx, k)
		if err == nil && found.alive() {
			return schemas.ErrTagExists
		}
		return exceeded
	}
	err := s.write(ctx, k, msg)
	var refused *jetstream.APIError
	if errors.Is(err, schemas.ErrTagExists) || errors.As(err, &refused) { // after other errors it may be stored
		s.usage.release(k.tenant, size, until)
	}
	return err
}

func (s *Store) write(ctx context.Context, k key, msg *nats.Msg) error {
	for last := uint64(0); ; {
		err := s.publish(ctx, msg, last)
		if err == nil {
			err = s.flush.Flush(ctx)
		}
		if !bucket.Outdated(err) {
			return wrap(err, "store", k)
		}
		found, err := s.last(ctx, k)
		if err != nil {
			return err
		}
		if found.alive() {
			return schemas.ErrTagExists.Because(fmt.Sprintf("the tag of request_id %q%s cannot change; delete it first, or let it expire", k.id, k.of()))
		}
		last = found.sequence // a marker, or a record that is not swept yet
	}
}

// publish stores msg if the newest message of its subject is still last; 0:
// if there is none.
func (s *Store) publish(ctx context.Context, msg *nats.Msg, last uint64) error {
	msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(last, 10))
	reply, err := s.js.Conn().RequestMsgWithContext(ctx, msg)
	if errors.Is(err, nats.ErrNoResponders) {
		_, err = s.js.PublishMsg(ctx, msg) // waits for a stream that has no leader
		return err
	}
	if err != nil {
		return err
	}
	// PublishMsg would read the whole acknowledgement, by reflection.
	var ack struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &ack); err != nil {
		return fmt.Errorf("read the acknowledgement: %w", err)
	}
	if ack.Error != nil {
		return ack.Error
	}
	return nil
}

func (s *Store) read(ctx context.Context, k key) (tag schemas.Tag, err error) {
	found, err := s.last(ctx, k)
	if err != nil {
		return tag, err
	}
	if !found.alive() {
		return tag, schemas.ErrTagNotFound.Because(fmt.Sprintf("no tag of request_id %q%s: none was written, or it was deleted or has expired", k.id, k.of()))
	}
	if err := json.Unmarshal(found.record, &tag); err != nil {
		return tag, fmt.Errorf("decode tag %q: %w", k.id, err)
	}
	return tag, nil
}

// delete puts a marker in the record's place, which soon expires itself. Where
// there is no record nothing is written.
func (s *Store) delete(ctx context.Context, k key) error {
	msg := bucket.Marker(k.subject())
	msg.Header.Set(jetstream.MsgTTLHeader, seconds(markerTTL))
	for {
		found, err := s.last(ctx, k)
		if err != nil || !found.alive() {
			return err
		}
		err = s.publish(ctx, msg, found.sequence)
		if bucket.Full(err) { // a purge needs no room for a marker
			err = s.stream.Purge(ctx, jetstream.WithPurgeSubject(k.subject()))
		}
		if bucket.Outdated(err) {
			continue
		}
		if err == nil {
			s.usage.release(k.tenant, len(k.subject())+len(found.record), found.deadline)
			err = s.flush.Flush(ctx)
		}
		return wrap(err, "delete", k)
	}
}

// pressure describes the bucket if it is nearly full.
func (s *Store) pressure(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	info, err := s.stream.Info(ctx)
	if err != nil {
		return nil, err
	}
	return bucket.Pressure(info), nil
}

// wrap says what was attempted with the tag, if anything failed.
func wrap(err error, attempted string, k key) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nats.ErrMaxPayload):
		return schemas.ErrTooLarge.Because("the tag is larger than the NATS server takes (max_payload)")
	default:
		return fmt.Errorf("%s tag %q: %w", attempted, k.id, err)
	}
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d/time.Second)) + "s" }
