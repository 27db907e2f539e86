package catalog_test

import (
	"testing"

	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/internal/catalog"
)

// TestSizes compares the sizes with the bytes that the server counts.
func TestSizes(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	c, err := catalog.Setup(t.Context(), conn.JetStream(), bucket.Replication{Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	record := []byte(`{"skill_id":"a"}`)
	key, deleted := catalog.Key{Kind: schemas.KindSkill, ID: "a"}, catalog.Key{Kind: schemas.KindSkill, Tenant: "acme", ID: "b"}
	revision, err := c.Put(t.Context(), key, record)
	if err != nil {
		t.Fatal(err)
	}
	queries := make([]string, 100)
	if _, err := c.AddGenerated(t.Context(), catalog.Change{Key: key, Record: record, Revision: revision}, queries); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(t.Context(), deleted, record); err != nil {
		t.Fatal(err)
	}
	last, err := c.Delete(t.Context(), deleted, always)
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
		if s.Expires.IsZero() != (s.Key == key) {
			t.Errorf("%v expires at %v", s.Key, s.Expires)
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
