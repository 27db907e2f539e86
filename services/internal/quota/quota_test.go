package quota_test

import (
	"errors"
	"strings"
	"testing"

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
		{"a quota and a bucket without a limit", 500, -1, 500, "uses 1 of 500 bytes of records; this write needs 500: delete records or raise --size"},
		{"a quota below the share of the bucket", 500, 1000, 500, "raise --size"},
		{"a quota above the share of the bucket", 900, 1000, 800,
			"uses 1 of 800 bytes of records, 80 % of the storage of the bucket; this write needs 800: delete records or raise --storage-limit"},
		{"a bucket without a quota", 0, 1000, 800, "raise --storage-limit"},
		{"neither", 0, 0, 0, ""},
	} {
		l := quota.Limit{Use: quota.Use{Bytes: row.quota}, Things: "records", BytesFlag: "--size", Storage: func() int64 { return row.storage }}
		used := quota.Use{Count: 1, Bytes: 1}
		if got := l.Of(used).MaxBytes; got != row.want {
			t.Errorf("%s: got a limit of %d bytes, want %d", row.name, got, row.want)
		}
		if row.want == 0 {
			if err := l.Check("acme", used, quota.Use{Bytes: 1 << 40}); err != nil {
				t.Errorf("%s: got %v", row.name, err)
			}
			continue
		}
		if err := l.Check("acme", used, quota.Use{Bytes: row.want - 1}); err != nil {
			t.Errorf("%s: a write up to the limit: got %v", row.name, err)
		}
		err := l.Check("acme", used, quota.Use{Bytes: row.want})
		if !errors.Is(err, schemas.ErrTooManyRequests) || !strings.Contains(err.Error(), row.remedy) {
			t.Errorf("%s: got %v, want %v: %s", row.name, err, schemas.ErrTooManyRequests, row.remedy)
		}
		if l.Near(quota.Use{Bytes: row.want / 2}) || !l.Near(quota.Use{Bytes: row.want/2 + 1}) {
			t.Errorf("%s: half of the limit is not where Near begins", row.name)
		}
	}
}
