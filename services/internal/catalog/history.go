package catalog

import (
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
	"cairn/schemas"
)

const (
	// HistoryStream is the JetStream stream of the earlier revisions of records: a mirror of
	// Stream, which keeps only the newest revision of each. The mirror has the same revisions, is
	// written asynchronously, and discards its oldest messages when it is full, so that it neither
	// delays writes nor uses the storage of the catalog.
	HistoryStream = "cairn_history"
	// MaxHistory is the number of revisions of a record in the history, including the newest
	// one and deletions.
	MaxHistory = schemas.MaxHistory

	// historyShare is the percentage of the storage that the history may use.
	historyShare = 8
	// catalogID is the metadata key of the mirror with the ID of its log.
	catalogID = "cairn-catalog"
)

// catalogOf returns the ID of the log that the history mirrors.
func catalogOf(history jetstream.Stream) string {
	return history.CachedInfo().Config.Metadata[catalogID]
}

// Revision is a revision of a record.
type Revision struct {
	Record   []byte // normalized by schemas.NormalizeRecord, must not be modified; nil if Removed
	Revision uint64
	Stored   time.Time
	Removed  bool
	origin
}

func revisionOf(key Key, msg *jetstream.RawStreamMsg) Revision {
	r := Revision{Revision: msg.Sequence, Stored: msg.Time, Removed: bucket.Removes(msg.Header),
		origin: origin(msg.Header.Get(headerOrigin))}
	if !r.Removed {
		r.Record = schemas.NormalizeRecord(key.Kind, msg.Data)
	}
	return r
}
