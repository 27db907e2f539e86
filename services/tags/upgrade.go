package tags

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
)

// The copy of the tags while their bucket is created again. It is complete if the bucket does not exist or is
// not in persist mode "async".
const (
	copyBucket   = Bucket + "_copy"
	copySubjects = bucket.SubjectPrefix + copyBucket + "."
)

// saveAsync copies a bucket in persist mode "async", which earlier releases created, and deletes it. In this
// mode the server acknowledges a tag before it writes it, and it does not change the mode of a stream. Without
// storage for the copy, as on a disk that has shrunk, the bucket stays as it is.
func saveAsync(ctx context.Context, js jetstream.JetStream) error {
	s, err := js.Stream(ctx, bucket.StreamPrefix+Bucket)
	if errors.Is(err, jetstream.ErrStreamNotFound) || err == nil && !bucket.Async(s) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := deleteCopy(ctx, js); err != nil { // an incomplete one
		return err
	}
	_, err = js.CreateStream(ctx, jetstream.StreamConfig{
		Name: bucket.StreamPrefix + copyBucket, Subjects: []string{copySubjects + ">"}, MaxMsgsPerSubject: 1,
		AllowMsgTTL: true,
	})
	if bucket.Full(err) {
		slog.Warn("a crash of the NATS server may lose tags: it has too little storage for a copy of their bucket", "err",
			err)
		return nil
	}
	if err == nil {
		err = copyTags(ctx, js, s, copySubjects)
	}
	if err != nil {
		return err
	}
	return js.DeleteStream(ctx, bucket.StreamPrefix+Bucket)
}

// restoreCopy writes the tags of the copy, if there is one, to the bucket, and deletes it.
func restoreCopy(ctx context.Context, js jetstream.JetStream) error {
	s, err := js.Stream(ctx, bucket.StreamPrefix+copyBucket)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err == nil {
		err = copyTags(ctx, js, s, subjects)
	}
	if err != nil {
		return err
	}
	return deleteCopy(ctx, js)
}

func deleteCopy(ctx context.Context, js jetstream.JetStream) error {
	err := js.DeleteStream(ctx, bucket.StreamPrefix+copyBucket)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	return err
}

// copyTags copies the tags of the stream with their deadlines, except for those whose subject has a message.
func copyTags(ctx context.Context, js jetstream.JetStream, from jetstream.Stream, to string) error {
	prefix := strings.TrimSuffix(from.CachedInfo().Config.Subjects[0], ">")
	for next := uint64(1); ; {
		stored, err := from.GetMsg(ctx, next, jetstream.WithGetMsgSubject(prefix+">"))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("copy the tags: %w", err)
		}
		next = stored.Sequence + 1
		key := strings.TrimPrefix(stored.Subject, prefix)
		_, isTag := parseKey(subjects + key)
		msg := nats.NewMsg(to + key)
		msg.Data = stored.Data
		msg.Header.Set(jetstream.MsgIDHeader, stored.Header.Get(jetstream.MsgIDHeader))
		msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, "0")
		if ttl, err := time.ParseDuration(stored.Header.Get(jetstream.MsgTTLHeader)); err == nil {
			remaining := time.Until(stored.Time.Add(ttl))
			isTag = isTag && remaining > 0
			msg.Header.Set(jetstream.MsgTTLHeader, seconds(remaining+time.Second-1)) // rounded up
		}
		if !isTag || bucket.Removes(stored.Header) {
			continue
		}
		if _, err := bucket.Publish(ctx, js, msg); err != nil && !bucket.Outdated(err) {
			return fmt.Errorf("copy the tags: %w", err)
		}
	}
}
