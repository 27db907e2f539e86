package register_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/quota"
	"cairn/services/register"
	"cairn/test/wait"
)

// serveLimited starts a registration worker with the quota most for each tenant.
func serveLimited(t testing.TB, conn *bus.Conn, most quota.Amount) *catalog.Catalog {
	t.Helper()
	c := setupCatalog(t, conn)
	serveCatalog(t, conn, register.Deps{Catalog: c, WaitVisible: register.ConfirmVisible(conn, c)}, most)
	return c
}

// tool registers a tool of the tenant; empty: the global scope.
func tool(t *testing.T, conn *bus.Conn, tenant, id, description string) error {
	t.Helper()
	owner := ""
	if tenant != "" {
		owner = fmt.Sprintf(`,"tenant_id":%q`, tenant)
	}
	_, err := bus.RegisterTool.Forward(t.Context(), conn,
		fmt.Appendf(nil, `{"tool_data":{"tool_id":"p.s.%s","description":%q%s}}`, id,
			description, owner))
	return err
}

func wantExceeded(t *testing.T, err error, want string) {
	t.Helper()
	if !errors.Is(err, schemas.ErrTooManyRequests) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %v: %s", err, schemas.ErrTooManyRequests, want)
	}
}

func TestTenantRecordLimit(t *testing.T) {
	t.Parallel()
	server, conn := bustest.Start(t)
	serveLimited(t, conn, quota.Amount{Count: 2})
	for _, tenant := range []string{"", "acme"} {
		for n := range 2 {
			if err := tool(t, conn, tenant, fmt.Sprint(n), ""); err != nil {
				t.Fatalf("record %d of %q: %v", n, tenant, err)
			}
		}
	}
	wantExceeded(t, tool(t, conn, "acme", "more", ""),
		"tenant acme uses 2 of 2 records; delete records or raise --tenant-records")
	wantExceeded(t, tool(t, conn, "", "more", ""), "the global scope uses 2 of 2 records")
	if err := tool(t, conn, "other", "more", ""); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	if err := tool(t, conn, "acme", "1", "replaced"); err != nil {
		t.Errorf("replace a record at the limit: %v", err)
	}

	serveLimited(t, bustest.Dial(t, server), quota.Amount{Count: 2}) // a worker that starts later
	for n := range 10 {                                              // either worker
		wantExceeded(t, tool(t, conn, "acme", fmt.Sprint("more", n), ""), "uses 2 of 2")
	}
	for n := range 10 { // a delete by one worker counts immediately for the other
		acme := "acme"
		if _, err := bus.Unregister.Call(t.Context(), conn,
			schemas.Unregister{Kind: schemas.KindTool, ID: "p.s.1", TenantID: &acme}); err != nil {
			t.Fatal(err)
		}
		if err := tool(t, conn, "acme", "1", ""); err != nil {
			t.Errorf("after delete %d: %v", n, err)
		}
	}
	wantExceeded(t, tool(t, conn, "acme", "more", ""), "uses 2 of 2")
}

func TestTenantRecordByteLimit(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	serveLimited(t, conn, quota.Amount{Bytes: 1430})
	if err := tool(t, conn, "acme", "one", strings.Repeat("x", 700)); err != nil {
		t.Fatal(err)
	}
	wantExceeded(t, tool(t, conn, "acme", "two", strings.Repeat("x", 700)), "of 1430 bytes of records; this write needs ")
	wantExceeded(t, tool(t, conn, "acme", "one", strings.Repeat("x", 1100)), "of 1430 bytes of records; this write needs ")
	if err := tool(t, conn, "acme", "one", strings.Repeat("x", 100)); err != nil {
		t.Errorf("a smaller record in its place: %v", err)
	}
	if err := tool(t, conn, "acme", "two", strings.Repeat("x", 600)); err != nil {
		t.Errorf("after freeing space: %v", err)
	}
}

// unregister deletes a tool of the tenant acme.
func unregister(t *testing.T, conn *bus.Conn, id string) {
	t.Helper()
	acme := "acme"
	if _, err := bus.Unregister.Call(t.Context(), conn,
		schemas.Unregister{Kind: schemas.KindTool, ID: "p.s." + id, TenantID: &acme}); err != nil {
		t.Fatal(err)
	}
}

// TestMarkersCountAgainstTheQuota registers and deletes new records again and again.
func TestMarkersCountAgainstTheQuota(t *testing.T) {
	t.Parallel()
	server, conn := bustest.Start(t)
	serveLimited(t, conn, quota.Amount{Bytes: 2000})
	var err error
	n := 0
	for ; err == nil && n < 100; n++ {
		if err = tool(t, conn, "acme", fmt.Sprint(n), ""); err == nil && n > 0 {
			unregister(t, conn, fmt.Sprint(n))
		}
	}
	wantExceeded(t, err, "of 2000 bytes of records; this write needs ")
	if err := tool(t, conn, "other", "one", ""); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	serveLimited(t, bustest.Dial(t, server), quota.Amount{Bytes: 2000}) // a worker that starts later
	for range 10 {                                                      // either worker
		wantExceeded(t, tool(t, conn, "acme", "more", ""), "of 2000 bytes of records")
	}
	unregister(t, conn, "0") // the marker is smaller than the record
	if err := tool(t, conn, "acme", "0", ""); err != nil {
		t.Errorf("register a deleted record again: %v", err)
	}
}

// TestRecordCountCoversTheStorage compares the count with the bytes that the server counts.
func TestRecordCountCoversTheStorage(t *testing.T) {
	t.Parallel()
	server, conn := bustest.Start(t)
	serveLimited(t, conn, quota.Amount{})
	const records = 200
	var writing sync.WaitGroup
	for n := range records {
		writing.Go(func() {
			if err := tool(t, conn, "acme", fmt.Sprint(n), "ü"); err != nil {
				t.Error(err)
			}
		})
	}
	writing.Wait()
	for n := range 20 {
		unregister(t, conn, fmt.Sprint(n))
		if err := tool(t, conn, "acme", fmt.Sprint(records-1-n), "replaced"); err != nil {
			t.Fatal(err)
		}
	}
	serveLimited(t, bustest.Dial(t, server), quota.Amount{}) // a worker that starts later
	s, err := conn.JetStream().Stream(t.Context(), catalog.Stream)
	if err != nil {
		t.Fatal(err)
	}
	state := s.CachedInfo().State
	acme := "acme"
	wait.Until(t, "the count covers the storage", func() bool {
		for range 20 { // either worker
			q, err := bus.RecordQuota.Call(t.Context(), conn, schemas.QuotaQuery{TenantID: &acme})
			if err != nil {
				t.Fatal(err)
			}
			if excess := q.Bytes - int64(state.Bytes); q.Count != records-20 || excess < 0 || excess > 160*int64(state.Msgs) {
				t.Logf("the count is %+v, the stream has %d messages and %d bytes", q, state.Msgs, state.Bytes)
				return false
			}
		}
		return true
	})
}

func TestTenantRecordsLeaveRoomInTheBucket(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	setup := func(bytes int64) *catalog.Catalog {
		c, err := catalog.Setup(t.Context(), conn.JetStream(),
			bucket.Replication{Replicas: 1, Storage: bucket.Storage{Bytes: bytes}})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := setup(20_000) // 10,000 for records
	serveCatalog(t, conn, register.Deps{Catalog: c, WaitVisible: register.ConfirmVisible(conn, c)},
		quota.Amount{Bytes: 1 << 30})
	write := func(tenant, id string) error { return tool(t, conn, tenant, id, strings.Repeat("x", 1000)) }
	var err error
	for n := 0; err == nil && n < 100; n++ {
		err = write("acme", fmt.Sprint(n))
	}
	wantExceeded(t, err, "of 8000 bytes of records, 80 % of the storage of the bucket; this write needs ")
	wantExceeded(t, err, ": delete records or raise --storage-limit")
	if err := write("other", "one"); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	if q, err := bus.RecordQuota.Call(t.Context(), conn, schemas.QuotaQuery{}); err != nil || q.MaxBytes != 8000 {
		t.Errorf("got the quota %+v and %v, want at most 8000 bytes", q, err)
	}
	setup(40_000)
	if err := write("acme", "more"); err != nil {
		t.Errorf("with more storage: %v", err)
	}
}
