package bucket

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/schemas"
)

// shares are the thousandths of the storage that buckets may use. The rest is for other streams.
var shares = map[string]int64{Catalog: 500, Tags: 250, Embeddings: 100, Quarantine: 40, Keys: 10, Audit: 5}

const (
	// DefaultStorage is used where neither a setting nor the NATS account limits the storage.
	DefaultStorage = 4 << 30
	memoryBytes    = 128 << 20 // maximum size limit of a bucket in memory
	warnAt         = 80        // percentage of its limit above which a bucket or the storage is reported
)

// Storage is the storage limit in bytes of all buckets together, on each server.
type Storage struct {
	Bytes   int64 // 0: unlimited
	Initial bool  // sets limits only on buckets without one
}

// FindStorage returns the storage limit of the NATS account for each server, given the
// number of replicas.
func FindStorage(ctx context.Context, js jetstream.JetStream, replicas int) (Storage, error) {
	// A cluster that has no leader never replies to this request, even after it has elected one.
	brief, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	account, err := js.AccountInfo(brief)
	if err != nil {
		return Storage{}, fmt.Errorf("read the limits of the NATS account: %w", err)
	}
	replicas = max(1, replicas)
	if tier, ok := account.Tiers[fmt.Sprintf("R%d", replicas)]; ok && tier.Limits.MaxStore > 0 {
		return Storage{Bytes: tier.Limits.MaxStore}, nil
	}
	if account.Limits.MaxStore > 0 {
		return Storage{Bytes: account.Limits.MaxStore / int64(replicas)}, nil
	}
	return Storage{Bytes: DefaultStorage, Initial: true}, nil
}

// ReplicationOf returns the number of replicas of the bucket, and the total storage limit that
// corresponds to the limit of the bucket.
func ReplicationOf(info *jetstream.StreamInfo) Replication {
	replication := Replication{Replicas: info.Config.Replicas}
	if share := shares[nameOf(info)]; share > 0 && info.Config.MaxBytes > 0 {
		replication.Storage.Bytes = info.Config.MaxBytes * 1000 / share
	}
	return replication
}

// subjectBytes is the part of the limit of a stream for each message that a subject may have, if it may have several.
// Entries of the audit log have at most about 3.5 KiB, so that one tenant never fills the stream.
const subjectBytes = 4 << 10

// limit sets MaxBytes of a bucket, and MaxMsgsPerSubject if it exceeds 1. before is the existing limit, or -1.
func (s Storage) limit(c *jetstream.StreamConfig, before int64) {
	share := shares[strings.TrimPrefix(c.Name, StreamPrefix)]
	if share == 0 {
		return
	}
	if c.MaxBytes = before; s.Bytes > 0 && (!s.Initial || before <= 0) {
		c.MaxBytes = s.Bytes * share / 1000
		if c.Storage == jetstream.MemoryStorage {
			c.MaxBytes = min(c.MaxBytes, memoryBytes)
		}
	}
	if c.MaxMsgsPerSubject > 1 && c.MaxBytes > 0 {
		c.MaxMsgsPerSubject = min(c.MaxMsgsPerSubject, max(1, c.MaxBytes/subjectBytes))
	}
}

// headerBytes is an upper bound of the headers of a message in a bucket, without the values that
// depend on a request.
const headerBytes = 160

// MessageSize returns the bytes of a stored message: those that the limit of a stream with file storage
// counts (nats-server, filestore.go, fileStoreMsgSizeRaw), with headerBytes for the headers. So the size
// is known before the headers are, and at most headerBytes larger than the exact one.
func MessageSize(subject string, payload int64) int64 {
	return 34 + headerBytes + int64(len(subject)) + payload
}

// Error codes for exhausted storage (nats-server, errors.json).
const (
	accountExceeded = 10002
	insufficient    = 10023 // the server's limit
	memoryExceeded  = 10028
	storageExceeded = 10047
	storeFailed     = 10077 // the limits of the stream, or the disk
)

// Full reports whether the server rejected a message or a stream for lack of storage.
func Full(err error) bool {
	return rejected(err, accountExceeded, insufficient, memoryExceeded, storageExceeded, storeFailed)
}

// tooSmall adds the remedy to err if the server has too little storage for the stream.
func tooSmall(err error, c jetstream.StreamConfig) error {
	if !Full(err) {
		return err
	}
	return fmt.Errorf("the NATS server has less than %d bytes for stream %s; lower --storage-limit, or raise the limit of the server: %w",
		c.MaxBytes, c.Name, err)
}

// refused returns schemas.ErrUnavailable if err reports that the named store is full.
func refused(err error, store string) error {
	problem := Refusal(err)
	if problem == "" {
		return err
	}
	return fmt.Errorf("%w: %w", schemas.ErrUnavailable.Because("the "+store+" "+problem), err)
}

// Refusal returns the predicate of a sentence about the store that has refused a write with err, such as "is full
// (maximum bytes exceeded)"; empty if err has another cause (Full).
func Refusal(err error) string {
	api, ok := errors.AsType[*jetstream.APIError](err)
	if !ok || !Full(err) {
		return ""
	}
	problem, reason := "is full", api.Description
	if api.ErrorCode == storeFailed && !strings.HasPrefix(reason, "maximum ") { // a disk error, after the path of a file
		problem, reason = "cannot be written", reason[strings.LastIndex(reason, ": ")+1:]
	}
	return fmt.Sprintf("%s (%s)", problem, strings.TrimSpace(reason))
}

// Problems describes the problems of a stream: lost messages, missing replicas, and the use of at least 80 % of
// its limit, unless it discards old messages and so is usually full.
func Problems(info *jetstream.StreamInfo) []string {
	list := lossProblem(info)
	if info.Config.Discard == jetstream.DiscardNew {
		list = append(list, storageWarning("bucket "+nameOf(info), info.State.Bytes, info.Config.MaxBytes)...)
	}
	return append(list, ReplicaProblems(info)...)
}

// Describe returns the state of a stream. The error wraps ErrNoStream if it does not exist.
func Describe(ctx context.Context, js jetstream.JetStream, stream string) (*jetstream.StreamInfo, error) {
	s, err := js.Stream(ctx, stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, fmt.Errorf("stream %s %w", stream, ErrNoStream)
	}
	if err != nil {
		return nil, err
	}
	return s.CachedInfo(), nil
}

// nameOf returns the name of the bucket with the stream.
func nameOf(info *jetstream.StreamInfo) string {
	return strings.TrimPrefix(info.Config.Name, StreamPrefix)
}

// ProblemsOf returns the Problems of the streams that exist, and describes the NATS storage if the
// account uses at least 80 % of it.
func ProblemsOf(ctx context.Context, js jetstream.JetStream, r Replication,
	streams ...string) (list []string, err error) {
	for _, name := range streams {
		s, err := js.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the state of stream %s: %w", name, err)
		}
		list = append(list, Problems(s.CachedInfo())...)
	}
	account, err := js.AccountInfo(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the usage of the NATS account: %w", err)
	}
	return append(list, storageWarning("the NATS storage", account.Store/uint64(max(1, r.Replicas)), r.Storage.Bytes)...),
		nil
}

func storageWarning(store string, used uint64, limit int64) []string {
	if limit <= 0 || float64(used) < warnAt*float64(limit)/100 {
		return nil
	}
	return []string{fmt.Sprintf("%s is %.0f %% full: %d of %d bytes", store, float64(used)/float64(limit)*100, used,
		limit)}
}

const (
	// LostAfter is the time without a message after which a node is lost. Nodes of a Raft
	// group send a heartbeat every second.
	LostAfter = 5 * time.Second
	// maxLag is the number of operations that a replica may be behind its leader. Under load
	// each one is behind by some for a moment: writes need a majority, not all replicas.
	maxLag = 1000
)

// ReplicaProblems describes each replica of the stream that is offline, lost, over 1,000
// operations behind the leader, joining or missing.
func ReplicaProblems(info *jetstream.StreamInfo) (list []string) {
	if info.Cluster == nil || info.Config.Replicas < 2 {
		return nil
	}
	name := "stream " + info.Config.Name
	for _, p := range info.Cluster.Replicas {
		switch {
		case p.Pending:
			list = append(list, fmt.Sprintf("%s: the replica on node %s is joining or leaving", name, p.Name))
		case p.Offline:
			list = append(list, fmt.Sprintf("%s: the replica on node %s is offline", name, p.Name))
		case !p.Current && p.Active == 0:
			list = append(list, fmt.Sprintf("%s: the replica on node %s has not been seen since the election of the leader",
				name, p.Name))
		case p.Lag > maxLag, !p.Current && p.Active > LostAfter:
			list = append(list, fmt.Sprintf("%s: the replica on node %s is behind: last seen %v ago, %d operations are missing",
				name, p.Name,
				p.Active.Round(time.Second), p.Lag))
		}
	}
	if d := info.Cluster.Desired; d != nil {
		list = append(list, name+": its nodes are being changed")
	}
	if n := 1 + len(info.Cluster.Replicas); n < info.Config.Replicas {
		list = append(list, fmt.Sprintf("%s has %d of %d replicas", name, n, info.Config.Replicas))
	}
	return list
}
