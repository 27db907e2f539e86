package catalog_test

import (
	"testing"

	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/internal/catalog"
)

const entryBytes = 256 // of a list entry

// TestSizes compares the sizes with the bytes that the server counts.
func TestSizes(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	c, err := catalog.Setup(t.Context(), conn.JetStream(), bucket.Replication{Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	record := []byte(`{"skill_id":"a"}`)
	key, deleted := catalog.Key{Kind: schemas.KindSkill, ID: "a"},
		catalog.Key{Kind: schemas.KindSkill, Tenant: "acme", ID: "b"}
	if _, err := c.Put(t.Context(), key, record); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(t.Context(), deleted, record); err != nil {
		t.Fatal(err)
	}
	last, _, err := c.Delete(t.Context(), deleted, always)
	if err != nil {
		t.Fatal(err)
	}
	received := make(chan catalog.Size, 10)
	_, stop, err := c.Sizes(t.Context(), func(s catalog.Size) { received <- s })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	sum := int64(0)
	for s := range received {
		sum += s.Bytes
		if s.Removed != (s.Revision == last) {
			t.Errorf("%v is removed: %v", s.Key, s.Removed)
		}
		if s.Revision == last {
			break
		}
	}
	s, err := conn.JetStream().Stream(t.Context(), catalog.Stream)
	if err != nil {
		t.Fatal(err)
	}
	if stored := int64(s.CachedInfo().State.Bytes); sum < stored || sum > stored+2*160 {
		t.Errorf("the sizes are %d bytes, the stream has %d", sum, stored)
	}
}

// TestSizesCountListEntries: list entries take more memory than storage.
func TestSizesCountListEntries(t *testing.T) {
	t.Parallel()
	key := catalog.Key{Kind: schemas.KindSkill, Tenant: "acme", ID: "a"}
	for _, row := range []struct {
		name, record string
		entries      int64
	}{
		{"no record", ``, 0},
		{"no list", `{"a":"[1,2]","b":{"c":1}}`, 0},
		{"an empty list", `{"a":[]}`, 0},
		{"lists", `{"a":["b","c"],"d":{"e":[1,2,3]}}`, 5},
		{"nested lists", `{"a":[["b"],{"c":["d"]}]}`, 4},
		{"after a duplicate name", `{"a":1,"a":2,"b":["c"]}`, 1},
		{"after invalid UTF-8", "{\"a\":\"\xff\",\"b\":[\"c\"]}", 1},
	} {
		empty := catalog.SizeOf(key, nil)
		if got := catalog.SizeOf(key, []byte(row.record)) - empty - int64(len(row.record)); got != row.entries*entryBytes {
			t.Errorf("%s: got %d bytes, want those of %d entries", row.name, got, row.entries)
		}
	}
}
