// Package bucket opens KV buckets whose reads decide: what was acknowledged is
// seen by every later read, replicated or not.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Open creates the bucket's stream, or brings one that exists up to date.
// replicas is the number of servers that keep each value; 0 leaves an existing
// bucket alone, and a new one gets 1. shape adds what this bucket has of its own
// to the stream of a KV bucket (ADR-8).
func Open(ctx context.Context, js jetstream.JetStream, name string, replicas int, shape func(*jetstream.StreamConfig)) (jetstream.Stream, error) {
	replicas, err := wantReplicas(ctx, js, name, replicas)
	if err != nil {
		return nil, err
	}
	c := jetstream.StreamConfig{
		Name:              stream(name),
		Subjects:          []string{"$KV." + name + ".>"},
		MaxMsgsPerSubject: 1,
		MaxMsgs:           -1,
		MaxBytes:          -1,
		MaxMsgSize:        -1,
		MaxConsumers:      -1,
		Storage:           jetstream.FileStorage,
		Replicas:          replicas,
		Discard:           jetstream.DiscardNew,
		Duplicates:        2 * time.Minute,
		AllowRollup:       true,
		DenyDelete:        true,
		// A direct get may be answered by a replica that has not yet applied
		// an acknowledged write. Without it nats.go (jetstream/stream.go,
		// getMsg) asks $JS.API.STREAM.MSG.GET, which only the stream's leader
		// answers (nats-server, jetstream_api.go, jsMsgGetRequest).
		AllowDirect: false,
	}
	shape(&c)
	s, err := js.CreateOrUpdateStream(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", name, err)
	}
	return s, nil
}

func stream(name string) string { return "KV_" + name }

func wantReplicas(ctx context.Context, js jetstream.JetStream, name string, replicas int) (int, error) {
	if replicas > 0 {
		return replicas, nil
	}
	s, err := js.Stream(ctx, stream(name))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 1, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look for bucket %s: %w", name, err)
	}
	return s.CachedInfo().Config.Replicas, nil
}

// Outdated reports whether a write was refused because its subject has moved
// on. A replicated stream says so with a code of its own.
func Outdated(err error) bool {
	var refused *jetstream.APIError
	return errors.As(err, &refused) &&
		(refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
			refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}
