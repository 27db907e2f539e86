package catalog

import (
	"context"
	"testing"
)

const (
	MaxWatchBatch = maxWatchBatch
	MinCounted    = minCounted
)

// StartBatch is startBatch.
func (c *Catalog) StartBatch(ctx context.Context) (end func(changes int), err error) {
	return startBatch(ctx, c.batches)
}

// Batches returns how many batches of watches count, and how many watches wait for one.
func (c *Catalog) Batches() (held int64, queued int) { return c.batches.Used(), c.batches.Queued() }

// HoldReads holds all bytes that may be read until release.
func (c *Catalog) HoldReads(t *testing.T) (release func()) {
	t.Helper()
	if !c.reads.Acquire("another tenant", maxReads) {
		t.Fatal("reads are in progress")
	}
	return func() { c.reads.Release("another tenant", maxReads) }
}

// Reads returns how many bytes are held by reads.
func (c *Catalog) Reads() int64 { return c.reads.Used() }
