package catalog

import (
	"context"
	"testing"
)

// StartReplay is startReplay.
func (c *Catalog) StartReplay(ctx context.Context) (end func(), err error) { return c.startReplay(ctx) }

// Replays returns how many watches catch up.
func (c *Catalog) Replays() int64 { return c.replays.Used() }

// HoldReads holds all bytes that may be read until release.
func (c *Catalog) HoldReads(t *testing.T) (release func()) {
	t.Helper()
	if !c.reads.Acquire("another tenant", maxReads) {
		t.Fatal("reads are in progress")
	}
	return func() { c.reads.Release("another tenant", maxReads) }
}

// HoldHistory holds the bytes of a large history that the tenant reads until release.
func (c *Catalog) HoldHistory(t *testing.T, tenant string) (release func()) {
	t.Helper()
	if !c.reads.Acquire(tenant, largeHistory) {
		t.Fatal("reads are in progress")
	}
	return func() { c.reads.Release(tenant, largeHistory) }
}

// Reads returns how many bytes are held by reads.
func (c *Catalog) Reads() int64 { return c.reads.Used() }
