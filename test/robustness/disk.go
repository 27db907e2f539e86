package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	// diskSize is the capacity of a node's disk in MiB.
	diskSize = 192
	filler   = "filler"
)

// diskFull fills the node's disk, frees it again, and restarts the node, which is
// necessary because nats-server disables JetStream after a failed write.
func diskFull(ctx context.Context, c *cluster, nodes []int) error {
	node := nodes[0]
	if err := c.fill(node); err != nil {
		return err
	}
	sleep(ctx, faultTime)
	if err := os.Remove(filepath.Join(c.directory(node), filler)); err != nil {
		return err
	}
	c.procs[node].kill()
	return c.run(node)
}

// simulatePowerFailure simulates a simultaneous power failure of the nodes: their disks
// lose all data that was not synced. Then it restarts the nodes.
func simulatePowerFailure(ctx context.Context, c *cluster, list []int) error {
	for _, i := range list {
		if err := c.procs[i].suspend(); err != nil { // the process must not see its disk fail
			return err
		}
	}
	for _, i := range list {
		if err := cutPower(c.directory(i)); err != nil {
			return fmt.Errorf("simulate a power failure of %s: %w", c.names[i], err)
		}
		c.procs[i].kill()
	}
	sleep(ctx, 5*time.Second)
	for _, i := range list {
		if err := errors.Join(unmount(c.directory(i)), mount(c.directory(i), diskSize)); err != nil {
			return fmt.Errorf("remount the disk of %s: %w", c.names[i], err)
		}
		if err := c.run(i); err != nil {
			return err
		}
	}
	return nil
}
