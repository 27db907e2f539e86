package projection

import (
	"strings"
	"testing"

	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/schemas"
)

// TestReleaseKeepsNewerRevision releases a record of which another worker has quarantined
// a newer revision that the watch has not delivered yet.
func TestReleaseKeepsNewerRevision(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JetStream()
	if err := Setup(t.Context(), js, bucket.Replication{}); err != nil {
		t.Fatal(err)
	}
	kv, err := bucket.OpenKV(t.Context(), js, Bucket)
	if err != nil {
		t.Fatal(err)
	}
	worker := func() *quarantine { // without a watch
		return &quarantine{kv: kv, records: map[string]schemas.QuarantinedRecord{}}
	}
	a, b := worker(), worker()
	for _, q := range []struct {
		*quarantine
		revision uint64
	}{{a, 3}, {b, 6}} {
		if err := q.put(t.Context(), schemas.QuarantinedRecord{Key: "k", Revision: q.revision}); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.release(t.Context(), "k", 5); err != nil {
		t.Fatal(err)
	}
	if entry, err := kv.Get(t.Context(), "k"); err != nil || !strings.Contains(string(entry.Value()), `"revision":6`) {
		t.Errorf("got %v, %v, want revision 6", entry, err)
	}
	if err := a.release(t.Context(), "k", 6); err != nil || a.quarantinedRevision("k") != 0 {
		t.Errorf("release of the newest revision: %v, revision %d is held", err, a.quarantinedRevision("k"))
	}
	if err := b.release(t.Context(), "k", 7); err != nil || b.quarantinedRevision("k") != 0 {
		t.Errorf("release of a released record: %v, revision %d is held", err, b.quarantinedRevision("k"))
	}
}
