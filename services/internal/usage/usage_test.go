package usage_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/usage"
	"cairn/test/wait"
)

var (
	own    = catalog.Key{Kind: schemas.KindSkill, Tenant: "acme", ID: "a.b c"}
	global = catalog.Key{Kind: schemas.KindSkill, ID: "a.b c"}
)

// TestUsageCounts checks that the counts of all workers are added up, for each tenant alone.
func TestUsageCounts(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JetStream()
	if err := usage.Setup(t.Context(), js, bucket.Replication{Storage: bucket.Storage{Bytes: 100 << 20}}); err != nil {
		t.Fatal(err)
	}
	const workers, each = 3, 500
	for range workers {
		r := usage.Start(js)
		cached := usage.NewUses("acme", usage.Resolved, own, global)
		var adding sync.WaitGroup
		for range each {
			adding.Go(func() {
				r.Add(cached)
				r.Add(usage.NewUses("acme", usage.Found, own))
				r.Add(usage.NewUses("", usage.Found, global))
			})
		}
		adding.Wait()
		r.Close()
	}
	const n = workers * each
	r := usage.Start(js)
	t.Cleanup(r.Close)
	for _, row := range []struct {
		tenant             string
		key                catalog.Key
		resolved, searched uint64
	}{
		{"acme", own, n, n},
		{"acme", global, n, 0},
		{"", global, 0, n},
		{"other", global, 0, 0},
		{"acme", catalog.Key{Kind: schemas.KindTool, Tenant: "acme", ID: "a.b c"}, 0, 0},
	} {
		var got schemas.RecordUsage
		wait.Until(t, fmt.Sprintf("%q has used %v %d and %d times", row.tenant, row.key, row.resolved, row.searched),
			func() bool {
				var err error
				if got, err = r.Read(t.Context(), row.tenant, row.key); err != nil {
					t.Fatal(err)
				}
				return got.Resolved.Count == row.resolved && got.Found.Count == row.searched
			})
		for _, u := range []schemas.Uses{got.Resolved, got.Found} {
			if (u.LastAt == "") != (u.Count == 0) {
				t.Errorf("%q, %v: %+v", row.tenant, row.key, u)
			}
		}
	}
}

// TestManyRecords checks that the memory of a recorder is bounded, and that the uses of one tenant
// leave room for those of another.
func TestManyRecords(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JetStream()
	if err := usage.Setup(t.Context(), js, bucket.Replication{}); err != nil {
		t.Fatal(err)
	}
	r := usage.Start(js)
	for i := range usage.MaxPending + 100 {
		r.Add(usage.NewUses("", usage.Found, catalog.Key{Kind: schemas.KindTool, ID: fmt.Sprintf("a.b.t%d", i)}))
	}
	pending := r.Pending()
	if pending > usage.MaxPending {
		t.Errorf("%d counts are pending, want at most %d", pending, usage.MaxPending)
	}
	r.Add(usage.NewUses("acme", usage.Found, catalog.Key{Kind: schemas.KindTool, ID: "a.b.t"}))
	if got := r.Pending(); got != pending+1 {
		t.Errorf("%d counts are pending after a use by another tenant, want %d", got, pending+1)
	}
	r.Close()
}

// TestSetupKeepsReplicas: a setup without a number of replicas leaves it unchanged.
func TestSetupKeepsReplicas(t *testing.T) {
	t.Parallel()
	js := bustest.StartCluster(t).Conns[0].JetStream()
	for _, replicas := range []int{3, 0} {
		if err := usage.Setup(t.Context(), js, bucket.Replication{Replicas: replicas}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := js.Stream(t.Context(), usage.Stream)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.CachedInfo().Config.Replicas; got != 3 {
		t.Errorf("got %d replicas, want 3", got)
	}
}

func TestWithoutStream(t *testing.T) {
	t.Parallel()
	r := usage.Start(bustest.Open(t).JetStream())
	r.Add(usage.NewUses("acme", usage.Resolved, own))
	if _, err := r.Read(t.Context(), "acme", own); !errors.Is(err, schemas.ErrUnavailable) {
		t.Errorf("got %v, want %v", err, schemas.ErrUnavailable)
	}
	r.Close()
}
