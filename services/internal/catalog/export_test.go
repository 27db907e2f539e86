package catalog

import "context"

// StartReplay is startReplay.
func (c *Catalog) StartReplay(ctx context.Context) (end func(), err error) { return c.startReplay(ctx) }

// Replays returns how many watches catch up.
func (c *Catalog) Replays() int64 { return c.replays.Used() }
