package register

import (
	"fmt"
	"testing"

	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/quota"
)

// TestRestartCountsMarkersOnce compares the count by the log as it grows with that of a restart.
func TestRestartCountsMarkersOnce(t *testing.T) {
	t.Parallel()
	c, err := catalog.Setup(t.Context(), bustest.Open(t).JetStream(), bucket.Replication{Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	open := func() *Counter {
		counter, err := OpenCounter(t.Context(), c, quota.Limit{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(counter.Close)
		return counter
	}
	counter := open()
	for n := range 3 {
		key := catalog.Key{Kind: schemas.KindTool, Tenant: "acme", ID: fmt.Sprint(n)}
		if _, err := c.Put(t.Context(), key, []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			continue
		}
		if _, _, err := c.Delete(t.Context(), key, func(uint64) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	newest, err := c.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	applied := func(counter *Counter) schemas.Quota {
		t.Helper()
		if err := counter.applied.Wait(t.Context(), newest); err != nil {
			t.Fatal(err)
		}
		return counter.Quota("acme")
	}
	size := catalog.SizeOf(catalog.Key{Kind: schemas.KindTool, Tenant: "acme", ID: "0"}, nil)
	want := schemas.Quota{Count: 1, Bytes: 3*size + 2}
	if got := applied(counter); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := applied(open()); got != want {
		t.Errorf("after a restart: got %+v, want %+v", got, want)
	}
}
