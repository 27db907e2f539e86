package quota_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/schemas"
	"cairn/services/internal/quota"
)

func TestLimitInBytes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name           string
		quota, storage int64
		want           int64 // 0: unlimited
		remedy         string
	}{
		{"a quota and a bucket without a limit", 500, -1, 500,
			"uses 1 of 500 bytes of records; this write needs 500: delete records or raise --size"},
		{"a quota below the share of the bucket", 500, 1000, 500, "raise --size"},
		{"a quota above the share of the bucket", 900, 1000, 800,
			"uses 1 of 800 bytes of records, 80 % of the storage of the bucket; " +
				"this write needs 800: delete records or raise --storage-limit"},
		{"a bucket without a quota", 0, 1000, 800, "raise --storage-limit"},
		{"neither", 0, 0, 0, ""},
	} {
		storage := func() int64 { return row.storage }
		limit := quota.Limit{Amount: quota.Amount{Bytes: row.quota}, Things: "records", BytesFlag: "--size", Storage: storage}
		c := quota.NewCounter(limit)
		c.Add("acme", quota.Amount{Count: 1, Bytes: 1}, time.Time{})
		if got := c.Quota("acme").MaxBytes; got != row.want {
			t.Errorf("%s: got a limit of %d bytes, want %d", row.name, got, row.want)
		}
		if row.want == 0 {
			if err := c.Reserve("acme", quota.Amount{Bytes: 1 << 40}, time.Time{}); err != nil {
				t.Errorf("%s: got %v", row.name, err)
			}
			continue
		}
		err := c.Reserve("acme", quota.Amount{Bytes: row.want}, time.Time{})
		if !errors.Is(err, schemas.ErrTooManyRequests) || !strings.Contains(err.Error(), row.remedy) {
			t.Errorf("%s: got %v, want %v: %s", row.name, err, schemas.ErrTooManyRequests, row.remedy)
		}
		c.Add("acme", quota.Amount{Bytes: row.want/2 - 1}, time.Time{})
		if c.NearLimit("acme") {
			t.Errorf("%s: half of the limit is near the limit", row.name)
		}
		if err := c.Reserve("acme", quota.Amount{Bytes: row.want / 2}, time.Time{}); err != nil {
			t.Errorf("%s: a write up to the limit: got %v", row.name, err)
		}
		if !c.NearLimit("acme") {
			t.Errorf("%s: the limit is not near the limit", row.name)
		}
	}
}

func TestCounterSubtractsWhatExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, start := quota.NewCounter(quota.Limit{}), time.Now().Truncate(time.Minute)
		want := func(when string, want quota.Amount) {
			t.Helper()
			if q := c.Quota("acme"); q.Count != want.Count || q.Bytes != want.Bytes {
				t.Errorf("%s: got %+v, want %+v", when, q, want)
			}
		}
		c.Add("acme", quota.Amount{Count: 1, Bytes: 100}, time.Time{})
		c.Add("acme", quota.Amount{Count: 1, Bytes: 10}, start.Add(time.Minute))
		c.Add("acme", quota.Amount{Count: 1, Bytes: 20}, start.Add(119*time.Second))
		c.Add("acme", quota.Amount{Count: 1, Bytes: 40}, start.Add(time.Hour))
		c.Add("acme", quota.Amount{Count: -1, Bytes: -20}, start.Add(119*time.Second))
		time.Sleep(time.Until(start.Add(119 * time.Second)))
		want("in the minute of the first expiry", quota.Amount{Count: 3, Bytes: 150})
		time.Sleep(time.Second)
		want("after it", quota.Amount{Count: 2, Bytes: 140})
		c.Add("acme", quota.Amount{Count: -1, Bytes: -10}, start.Add(time.Minute))
		want("after a late deletion of what has expired", quota.Amount{Count: 2, Bytes: 140})
		time.Sleep(2 * time.Hour)
		want("after the last expiry", quota.Amount{Count: 1, Bytes: 100})
	})
}
