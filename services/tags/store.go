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

	"cairn/schemas"
)

const (
	// Bucket is the name of the KV bucket of the records.
	Bucket   = "tags"
	stream   = "KV_" + Bucket
	subjects = "$KV." + Bucket + "."

	// markerTTL is how long a deletion is remembered: the least that a server
	// takes. Nobody watches the bucket, so nobody needs it longer.
	markerTTL = time.Second
	// checkTimeout bounds the question whether the store is there.
	checkTimeout = 2 * time.Second
)

// Settings say how safely records are kept.
type Settings struct {
	// Replicas is the number of servers that keep each record; 0 is 1.
	Replicas int
	// Memory keeps records off the disk: they end with the server.
	Memory bool
}

// Store keeps records in a KV bucket in which each key has a time to live. It
// may be used concurrently and needs no closing.
type Store struct {
	js     jetstream.JetStream
	stream jetstream.Stream
}

// Open creates the bucket, or brings one that exists up to date.
func Open(ctx context.Context, js jetstream.JetStream, settings Settings) (*Store, error) {
	s, err := js.CreateOrUpdateStream(ctx, config(settings))
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", Bucket, err)
	}
	return &Store{js, s}, nil
}

// config is the stream of a KV bucket (ADR-8) with these departures.
func config(settings Settings) jetstream.StreamConfig {
	c := jetstream.StreamConfig{
		Name:              stream,
		Description:       "tags of requests in flight, by base64url of the request_id",
		Subjects:          []string{subjects + ">"},
		MaxMsgsPerSubject: 1,
		MaxMsgs:           -1,
		MaxBytes:          -1,
		MaxMsgSize:        -1,
		MaxConsumers:      -1,
		Storage:           jetstream.FileStorage,
		Replicas:          max(settings.Replicas, 1),
		Discard:           jetstream.DiscardNew,
		Duplicates:        2 * time.Minute,
		AllowRollup:       true,
		DenyDelete:        true,
		// ADR-43. Limit markers (SubjectDeleteMarkerTTL) would leave a message
		// for watchers behind each record that expires; without them a key is
		// free at once, and an expiry is one removal.
		AllowMsgTTL: true,
		// A direct get may be answered by a replica that has not yet applied
		// an acknowledged write. Without it nats.go (jetstream/stream.go,
		// getMsg) asks $JS.API.STREAM.MSG.GET, which only the stream's leader
		// answers (nats-server, jetstream_api.go, jsMsgGetRequest).
		AllowDirect: false,
	}
	switch {
	case settings.Memory:
		c.Storage = jetstream.MemoryStorage
	case c.Replicas == 1:
		// A record of a request in flight may be lost with the machine, so the
		// server need not sync each one although it syncs the catalog's
		// (nats-server, filestore.go, UpdateConfig). It takes this mode for a
		// stream of one replica only; more replicas are the safety otherwise.
		c.PersistMode = jetstream.AsyncPersistMode
	}
	return c
}

// subject is where the record of the id is. Any id has one, and no two the
// same: it is the id in base64url.
func subject(id string) string {
	return subjects + base64.RawURLEncoding.EncodeToString([]byte(id))
}

// create stores tag for ttl, or answers ErrTagExists. It is one round trip,
// unless something is or was there.
func (s *Store) create(ctx context.Context, tag schemas.Tag, ttl time.Duration) error {
	record, err := json.Marshal(tag)
	if err != nil {
		return fmt.Errorf("encode tag %q: %w", tag.RequestID, err)
	}
	msg := nats.NewMsg(subject(tag.RequestID))
	msg.Data = record
	msg.Header.Set(jetstream.MsgTTLHeader, seconds(ttl))
	for last := uint64(0); ; {
		err := s.publish(ctx, msg, last)
		if !outdated(err) {
			return wrap(err, "store", tag.RequestID)
		}
		found, err := s.last(ctx, tag.RequestID)
		if err != nil {
			return err
		}
		if found.alive() {
			return schemas.ErrTagExists
		}
		last = found.sequence // a marker, or a record that is not swept yet
	}
}

// publish stores msg if the newest message of its subject is still last; 0:
// if there is none.
func (s *Store) publish(ctx context.Context, msg *nats.Msg, last uint64) error {
	msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(last, 10))
	_, err := s.js.PublishMsg(ctx, msg)
	return err
}

// outdated reports whether a write was refused because its subject has moved
// on. A replicated stream says so with a code of its own.
func outdated(err error) bool {
	var refused *jetstream.APIError
	return errors.As(err, &refused) &&
		(refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
			refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

func (s *Store) read(ctx context.Context, id string) (tag schemas.Tag, err error) {
	found, err := s.last(ctx, id)
	if err != nil {
		return tag, err
	}
	if !found.alive() {
		return tag, schemas.ErrTagNotFound
	}
	if err := json.Unmarshal(found.record, &tag); err != nil {
		return tag, fmt.Errorf("decode tag %q: %w", id, err)
	}
	return tag, nil
}

// delete puts a marker in the record's place, which soon expires itself.
func (s *Store) delete(ctx context.Context, id string) error {
	msg := nats.NewMsg(subject(id))
	msg.Header.Set(operation, "DEL")
	msg.Header.Set(jetstream.MsgTTLHeader, seconds(markerTTL))
	_, err := s.js.PublishMsg(ctx, msg)
	return wrap(err, "delete", id)
}

func (s *Store) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	_, err := s.stream.Info(ctx)
	return err
}

// wrap says what was attempted with the tag, if anything failed.
func wrap(err error, attempted, id string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nats.ErrMaxPayload):
		return schemas.ErrTooLarge.Because("the tag is larger than the NATS server takes (max_payload)")
	default:
		return fmt.Errorf("%s tag %q: %w", attempted, id, err)
	}
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d/time.Second)) + "s" }
