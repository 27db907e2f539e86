// Package bucket opens KV buckets with linearizable reads: a read includes every write
// that was acknowledged before it, replicated or not.
//
// A bucket is a JetStream stream with the naming scheme of KV buckets (ADR-8), so that other
// clients can read it. Setup creates or updates its stream, Bind waits for one that exists, and a
// [Reader] reads it. Writes are retried until JetStream acknowledges them or ctx ends, and are stored
// once by their message IDs. While the cluster has no leader, operations wait. Functions return the
// errors of nats.go, and errors of package schemas for a full store.
package bucket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"cairn/bus/retry"
	"cairn/schemas"
)

const logInterval = 10 * time.Second // of the log line about retries

// Names of the buckets. The prefix lets Cairn share a NATS account.
const (
	Catalog    = "cairn_catalog"
	Tags       = "cairn_tags"
	Embeddings = "cairn_embeddings" // a cache: the oldest messages are discarded
	Quarantine = "cairn_quarantine"
	Keys       = "cairn_keys"
	Audit      = "cairn_audit" // the changes of records and keys: the oldest messages are discarded
)

// Naming scheme of KV buckets (ADR-8).
const (
	// StreamPrefix precedes the name of a bucket in the name of its stream.
	StreamPrefix = "KV_"
	// SubjectPrefix precedes the name of a bucket, a dot and a key in the subject of the key.
	SubjectPrefix = "$KV."
	operation     = "KV-Operation" // header of a delete or purge marker
)

// Marker returns a message that deletes the key of the subject.
func Marker(subject string) *nats.Msg {
	msg := nats.NewMsg(subject)
	msg.Header.Set(operation, "DEL")
	return msg
}

// Removes reports whether the header belongs to a delete marker: from Marker, a manual purge or the
// server.
func Removes(h nats.Header) bool {
	op := h.Get(operation)
	return op == "DEL" || op == "PURGE" || h.Get(jetstream.MarkerReasonHeader) != ""
}

// Ordered returns an ordered consumer of the stream. While the cluster is not ready, it retries until ctx ends.
// The prefix of its name lets Cairn share a NATS account. The server deletes it a minute after it was last read,
// or Release deletes it. All attempts have one name, and a failure deletes it, because the server may create the
// consumer of an attempt whose reply is lost. The end of ctx does not interrupt an attempt.
func Ordered(ctx context.Context, js jetstream.JetStream, s jetstream.Stream,
	config jetstream.OrderedConsumerConfig) (c jetstream.Consumer, err error) {
	config.NamePrefix, config.InactiveThreshold = "cairn_"+nuid.Next(), time.Minute
	err = WaitReady(ctx, js, "create a consumer", func() error {
		// for at most the default timeout of the client library
		c, err = s.OrderedConsumer(context.WithoutCancel(ctx), config)
		return err
	})
	if err != nil {
		deleteConsumer(s, config.NamePrefix+"_1") // the name of the first consumer of OrderedConsumerConfig
	}
	if rejected(err, consumersExceeded) {
		err = fmt.Errorf("%w: %w", schemas.ErrUnavailable.Because("too many consumers of stream "+s.CachedInfo().Config.Name),
			err)
	}
	return c, err
}

// Release deletes an ordered consumer that is no longer read.
func Release(s jetstream.Stream, consumer jetstream.Consumer) {
	if info := consumer.CachedInfo(); info != nil {
		deleteConsumer(s, info.Name)
	}
}

// deleteConsumer deletes a consumer, or the server does it later.
func deleteConsumer(s jetstream.Stream, name string) {
	ctx, cancel := context.WithTimeout(context.Background(), attemptTimeout)
	defer cancel()
	_ = s.DeleteConsumer(ctx, name)
}

// Replication configures the replication, placement and size limit of a bucket. The zero value
// leaves an existing bucket unchanged; a new one gets one replica without placement or limit.
type Replication struct {
	Replicas int      // number of replicas; 0: unchanged, 1 for a new bucket
	Cluster  string   // cluster to place the replicas in; empty: any
	Tags     []string // tags that a server must have to hold a replica; none: any server
	Storage  Storage  // limit of all buckets together, on each server
}

// ErrNoStream is the error for a stream that does not exist.
var ErrNoStream = errors.New("does not exist: run cairn setup")

// Bind returns the stream, which Setup or SetupStream has created. It waits until the stream exists
// and its cluster has a leader, or ctx ends.
func Bind(ctx context.Context, js jetstream.JetStream, name string) (s jetstream.Stream, err error) {
	err = WaitReady(ctx, js, "open stream "+name, func() error {
		s, err = js.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return fmt.Errorf("stream %s %w", name, ErrNoStream)
		}
		return err
	})
	return s, err
}

// Setup creates the bucket's stream, or upgrades the configuration of one that
// exists. shape changes the default configuration of a KV bucket (ADR-8). While the
// cluster has no quorum, or fewer servers than replicas, Setup waits until ctx ends.
func Setup(ctx context.Context, js jetstream.JetStream, name string, replication Replication,
	shape func(*jetstream.StreamConfig)) (jetstream.Stream, error) {
	c := jetstream.StreamConfig{
		Name:              StreamPrefix + name,
		Subjects:          []string{SubjectPrefix + name + ".>"},
		MaxMsgsPerSubject: 1,
		Storage:           jetstream.FileStorage,
		Discard:           jetstream.DiscardNew,
		Duplicates:        duplicateWindow,
		AllowRollup:       true,
		DenyDelete:        true,
	}
	shape(&c)
	return SetupStream(ctx, js, c, replication)
}

// SetupStream is Setup for a stream that is not a bucket. c includes its size limit.
func SetupStream(ctx context.Context, js jetstream.JetStream, c jetstream.StreamConfig, replication Replication) (
	s jetstream.Stream, err error,
) {
	failures := 0
	err = WaitReady(ctx, js, "set up stream "+c.Name, func() error {
		s, err = setup(ctx, js, c, replication)
		if rejected(err, createFailed) && failures < maxCreateFailures {
			failures++
			return fmt.Errorf("%w: %w", ErrNoStream, err)
		}
		return err
	})
	return s, err
}

const (
	// createFailed is the error of a server that could not create the store of a stream
	// (nats-server, errors.json), which also happens when several clients create the
	// stream at the same time.
	createFailed      = 10049
	maxCreateFailures = 3 // after createFailed
)

// OpenKV is Bind with the KV interface of the client library.
func OpenKV(ctx context.Context, js jetstream.JetStream, name string) (kv jetstream.KeyValue, err error) {
	err = WaitReady(ctx, js, "open bucket "+name, func() error {
		if kv, err = js.KeyValue(ctx, name); errors.Is(err, jetstream.ErrBucketNotFound) {
			return fmt.Errorf("bucket %s %w", name, ErrNoStream)
		}
		return err
	})
	return kv, err
}

// recoveryTimeout bounds the retries of WaitReady while a stand-alone server does not respond because
// it recovers its streams.
const recoveryTimeout = 10 * time.Second

// WaitReady retries do while the cluster is not ready or a stream is missing, until ctx ends. While a
// stand-alone server does not respond, it retries for recoveryTimeout. It logs the reason.
func WaitReady(ctx context.Context, js jetstream.JetStream, task string, do func() error) error {
	var logged time.Time
	var missing error // the stream; ctx may end during a later attempt
	started := time.Now()
	retryable := func(err error) bool {
		recovering := timedOut(err) && time.Since(started) < recoveryTimeout
		if !recovering && !errors.Is(err, ErrNoStream) && !unready(js, err) {
			return false
		}
		if time.Since(logged) > logInterval {
			logged = time.Now()
			slog.Warn("waiting for NATS", "err", fmt.Errorf("%s: %w", task, err))
		}
		if errors.Is(err, ErrNoStream) {
			missing = err
		}
		return true
	}
	err := retry.Do(ctx, retryable, do)
	if timedOut(err) {
		err = cmp.Or(missing, err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", task, err)
	}
	return nil
}

// clustered reports whether the server belongs to a cluster. While the connection is
// lost it returns true, because the next server is unknown.
func clustered(js jetstream.JetStream) bool {
	return js.Conn().ConnectedClusterName() != "" || !js.Conn().IsConnected()
}

// unready reports whether err is temporary: the cluster may become ready.
func unready(js jetstream.JetStream, err error) bool {
	if !clustered(js) {
		return false
	}
	if refused, ok := errors.AsType[*jetstream.APIError](err); ok {
		return refused.Code == 503 || refused.ErrorCode == noPeers
	}
	return NoReply(err)
}

// consumersExceeded is the error code for too many consumers of a stream (nats-server, errors.json).
const consumersExceeded = 10026

// Error codes for fewer servers than replicas: of a cluster (nats-server, JSClusterNoPeersErrF), and
// of a stand-alone server (JSStreamReplicasNotSupportedErr).
const (
	noPeers              = 10005
	replicasNotSupported = 10074
)

// TooFewServers reports whether a stream was rejected because there are fewer servers than replicas.
func TooFewServers(err error) bool { return rejected(err, noPeers, replicasNotSupported) }

// rejected reports whether the server has rejected an operation with one of the codes.
func rejected(err error, codes ...jetstream.ErrorCode) bool {
	e, ok := errors.AsType[*jetstream.APIError](err)
	return ok && slices.Contains(codes, e.ErrorCode)
}

func setup(ctx context.Context, js jetstream.JetStream, c jetstream.StreamConfig,
	replication Replication) (jetstream.Stream, error) {
	// A stream that another process is creating has no leader yet and does not respond.
	brief, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	s, err := js.Stream(brief, c.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		created := replication.configure(c, nil)
		if s, err = js.CreateStream(ctx, created); !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return s, tooSmall(err, created)
		}
		return setup(ctx, js, c, replication) // created concurrently with another ID
	}
	if err != nil {
		return nil, err
	}
	if s, err = MarkReported(ctx, js, s); err != nil {
		return nil, err
	}
	before := s.CachedInfo().Config
	return Update(ctx, js, s, replication.configure(c, &before))
}

// Async reports whether the stream is in persist mode "async", which earlier releases used, and which the
// server does not change: it acknowledges a message before it writes it to the operating system.
func Async(s jetstream.Stream) bool {
	return s.CachedInfo().Config.PersistMode == jetstream.AsyncPersistMode
}

// Update updates the configuration of the stream s. A server whose disk has shrunk refuses any update,
// even to a lower limit: then Update logs a warning, and returns s.
func Update(ctx context.Context, js jetstream.JetStream, s jetstream.Stream,
	c jetstream.StreamConfig) (jetstream.Stream, error) {
	updated, err := js.UpdateStream(ctx, c)
	if Full(err) {
		slog.Warn("stream configuration not updated: insufficient storage on the NATS server", "stream", c.Name, "max_bytes",
			s.CachedInfo().Config.MaxBytes, "err", err)
		return s, nil
	}
	return updated, err
}

// configure returns c with replicas, placement and size limit. before is the existing configuration,
// or nil.
func (r Replication) configure(c jetstream.StreamConfig, before *jetstream.StreamConfig) jetstream.StreamConfig {
	c.Replicas = max(1, r.Replicas)
	if r.Cluster != "" || len(r.Tags) > 0 {
		c.Placement = &jetstream.Placement{Cluster: r.Cluster, Tags: r.Tags}
	}
	if before == nil {
		Identify(&c)
		r.Storage.limit(&c, -1)
		return c
	}
	if r.Replicas == 0 {
		c.Replicas = before.Replicas
	}
	if c.Placement == nil {
		c.Placement = before.Placement
	}
	c.PersistMode, c.Metadata = before.PersistMode, before.Metadata
	r.Storage.limit(&c, before.MaxBytes)
	return c
}

// Outdated reports whether a write was rejected because of its expected sequence. A
// replicated stream returns a different error code.
func Outdated(err error) bool {
	return rejected(err, jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

const identity = "cairn-id" // metadata key of a stream with the ID of its bucket

// Identify gives a new bucket a unique ID.
func Identify(c *jetstream.StreamConfig) { c.Metadata = map[string]string{identity: nuid.Next()} }

// ID returns the ID of the bucket, which differs between buckets that had the same name:
// their revisions are not comparable. The creation time does not identify a bucket: the
// replicas of a restored stream differ in it (nats-server, processStreamRestore).
func ID(info *jetstream.StreamInfo) string {
	if id := info.Config.Metadata[identity]; id != "" {
		return id
	}
	return info.Created.UTC().Format(time.RFC3339Nano) // not created by Setup
}
