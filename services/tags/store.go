package tags

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus"
	"cairn/bus/admission"
	"cairn/bus/bucket"
	"cairn/bus/retry"
	"cairn/schemas"
)

const (
	// expiryInterval is the interval at which a write waits for the removal of an expired
	// tag.
	expiryInterval = 50 * time.Millisecond
	// checkTimeout bounds a health check of the bucket.
	checkTimeout = 2 * time.Second
)

// Store stores tags in a KV bucket with a time to live for each key. It is safe for
// concurrent use.
type Store struct {
	js      jetstream.JetStream
	stream  jetstream.Stream
	reader  *bucket.Reader
	counter *counter
	writes  *bus.WriteMonitor
	lists   *admission.Pool // lists in progress
}

// Close stops counting tags and monitoring writes.
func (s *Store) Close() {
	s.counter.close()
	s.writes.Close()
}

// key identifies a tag within the scope of a tenant.
type key struct{ tenant, id string }

func keyOf(tenant *string, id string) key { return key{schemas.ValueOr(tenant, ""), id} }

// tenantClause returns the tenant for use in an error message.
func (k key) tenantClause() string {
	if k.tenant == "" {
		return ""
	}
	return fmt.Sprintf(" for tenant %q", k.tenant)
}

// subject returns the subject of the key: tenant and id in base64url, or only the id for a global tag.
// Different keys have different subjects.
func (k key) subject() string {
	id := base64.RawURLEncoding.EncodeToString([]byte(k.id))
	if k.tenant == "" {
		return subjects + id
	}
	return subjects + base64.RawURLEncoding.EncodeToString([]byte(k.tenant)) + "." + id
}

// parseKey is the inverse of key.subject; ok is false for subjects of other messages.
func parseKey(subject string) (k key, ok bool) {
	tenant, id, scoped := strings.Cut(strings.TrimPrefix(subject, subjects), ".")
	if !scoped {
		tenant, id = "", tenant
	}
	decodedTenant, err := base64.RawURLEncoding.DecodeString(tenant)
	if err != nil {
		return key{}, false
	}
	decodedID, err := base64.RawURLEncoding.DecodeString(id)
	if err != nil {
		return key{}, false
	}
	return key{tenant: string(decodedTenant), id: string(decodedID)}, true
}

// create stores tag for ttl. It returns ErrTagExists if there is one, or ErrTooManyRequests if the tenant has
// reached its limit. It takes one round trip unless the key has an earlier message.
func (s *Store) create(ctx context.Context, k key, tag schemas.Tag, ttl time.Duration) error {
	msg := nats.NewMsg(k.subject())
	msg.Data = encode(tag)
	msg.Header.Set(jetstream.MsgTTLHeader, seconds(ttl))
	until, size := time.Now().Add(ttl), bucket.MessageSize(msg.Subject, int64(len(msg.Data)))
	if exceeded := s.counter.reserve(k.tenant, size, until); exceeded != nil {
		return s.explain(ctx, k, msg, exceeded)
	}
	revision, err := s.write(ctx, k, msg)
	if _, rejected := errors.AsType[*jetstream.APIError](err); rejected || errors.Is(err, schemas.ErrTagExists) {
		s.counter.cancel(k.tenant, size, until)
		return err
	}
	s.counter.commit(k.tenant, size, until, revision) // also after another error: the tag may be stored
	return err
}

// explain returns the error of a write that exceeds the limit: nil if an earlier attempt of this request
// stored it, or ErrTagExists if there is another tag.
func (s *Store) explain(ctx context.Context, k key, msg *nats.Msg, exceeded error) error {
	existing, err := s.last(ctx, k)
	switch {
	case err != nil || !existing.alive():
		_, _ = s.stream.Info(ctx) // a limit of the bucket that was raised applies to the next write
		return exceeded
	case existing.id == bucket.MessageID(ctx, msg):
		return nil
	default:
		return schemas.ErrTagExists
	}
}

// write stores msg and returns its revision.
func (s *Store) write(ctx context.Context, k key, msg *nats.Msg) (revision uint64, err error) {
	for last := uint64(0); ; {
		revision, err := s.publish(ctx, msg, last)
		if !bucket.Outdated(err) {
			return revision, wrap(err, "store", k)
		}
		newest, err := s.last(ctx, k)
		if err != nil {
			return 0, err
		}
		if newest.id == bucket.MessageID(ctx, msg) { // stored by an attempt whose acknowledgement was lost
			return newest.sequence, nil
		}
		if newest.alive() {
			return 0, schemas.ErrTagExists.Because(
				fmt.Sprintf("the tag of request_id %q%s cannot change; delete it first, or let it expire",
					k.id, k.tenantClause()))
		}
		if last == newest.sequence { // this replica has removed an expired tag, the leader has not
			if err := retry.Sleep(ctx, expiryInterval); err != nil {
				return 0, wrap(err, "store", k)
			}
		}
		last = newest.sequence // a marker, or none
	}
}

// publish stores msg if the newest sequence of its subject is last, where 0 means
// no message.
func (s *Store) publish(ctx context.Context, msg *nats.Msg, last uint64) (revision uint64, err error) {
	msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(last, 10))
	return bucket.Publish(ctx, s.js, msg)
}

func (s *Store) read(ctx context.Context, k key) (tag schemas.Tag, err error) {
	newest, err := s.last(ctx, k)
	if err != nil {
		return tag, err
	}
	if !newest.alive() {
		return tag, schemas.ErrTagNotFound.Because(
			fmt.Sprintf("no tag of request_id %q%s: none was written, or it was deleted or has expired",
				k.id, k.tenantClause()))
	}
	if err := json.Unmarshal(newest.record, &tag); err != nil {
		return tag, fmt.Errorf("decode tag %q: %w", k.id, err)
	}
	return tag, nil
}

// delete removes the tag. It writes nothing if there is no tag, and spares a tag that is written
// meanwhile: the tag that it has read was then deleted or has expired during the call.
//
// It purges the subject, because the server stores a tombstone for a message that is purged. A message that
// a delete marker replaces has none: when the marker has expired, a server that was killed reads it again
// from its files (nats-server issue 8505).
func (s *Store) delete(ctx context.Context, k key) error {
	tag, err := s.last(ctx, k)
	if err != nil || !tag.alive() {
		return err
	}
	purged, err := bucket.Purge(ctx, s.js, Bucket, bucket.Range{Subject: k.subject(), Last: tag.sequence})
	if purged > 0 { // otherwise another delete or the server has removed it
		s.counter.release(k.tenant, bucket.MessageSize(k.subject(), int64(len(tag.record))), tag.deadline, tag.sequence)
	}
	return wrap(err, "delete", k)
}

// list returns the tags of a tenant that were written after the position of the cursor, the earliest first. Values
// are neither read nor returned.
func (s *Store) list(ctx context.Context, q schemas.TagQuery) (list schemas.TagList, err error) {
	limit, tenant := schemas.ValueOr(q.Limit, schemas.DefaultLimit), schemas.ValueOr(q.TenantID, "")
	after := uint64(0)
	if q.Cursor != "" {
		if after, err = strconv.ParseUint(q.Cursor, 10, 63); err != nil {
			return list, schemas.ErrCursor
		}
	}
	if err := s.lists.Wait(ctx, tenant, 1); err != nil {
		return list, err
	}
	defer s.lists.Release(tenant, 1)
	consumer, err := bucket.Ordered(ctx, s.js, s.stream, jetstream.OrderedConsumerConfig{
		HeadersOnly: true, FilterSubjects: []string{key{tenant, ""}.subject() + "*"},
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1,
	})
	if err != nil {
		return list, err
	}
	defer bucket.Release(s.stream, consumer)
	list.Tags = []schemas.TagSummary{}
	err = bucket.ReceiveAll(ctx, consumer, limit, func(msg jetstream.Msg, meta *jetstream.MsgMetadata) bool {
		if summary, ok := summarize(msg, meta); ok {
			list.Tags = append(list.Tags, summary)
		}
		if len(list.Tags) < limit {
			return true
		}
		if meta.NumPending > 0 {
			list.NextCursor = new(strconv.FormatUint(meta.Sequence.Stream, 10))
		}
		return false
	})
	return list, err
}

// storageWarnings describes the bucket if it stores no messages, is nearly full or lacks a replica.
func (s *Store) storageWarnings(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	info, err := s.stream.Info(ctx)
	if err != nil {
		return s.writes.Problems(), err
	}
	return append(s.writes.Problems(), bucket.Problems(info)...), nil
}

// last returns the newest entry of the key, including every acknowledged write.
func (s *Store) last(ctx context.Context, k key) (entry, error) {
	msg, err := s.reader.Last(ctx, k.subject())
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return entry{}, nil
	}
	if err != nil {
		return entry{}, wrap(err, "read", k)
	}
	ttl, _ := time.ParseDuration(msg.Header.Get(jetstream.MsgTTLHeader)) // set by every write of this package
	return entry{
		id:       msg.Header.Get(jetstream.MsgIDHeader),
		record:   msg.Data,
		sequence: msg.Sequence,
		removed:  bucket.Removes(msg.Header),
		deadline: msg.Time.Add(ttl),
	}, nil
}

// wrap adds the operation and the tag to a non-nil error.
func wrap(err error, attempted string, k key) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nats.ErrMaxPayload):
		return schemas.ErrTooLarge.Because("the tag exceeds max_payload of the NATS server")
	default:
		return fmt.Errorf("%s tag %q: %w", attempted, k.id, err)
	}
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d/time.Second)) + "s" }
