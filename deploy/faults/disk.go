package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// diskSize is how much a node's disk holds, in MiB.
	diskSize = 192
	filler   = "filler"
)

// disks gives each node a small disk of its own, in memory. Only root on Linux may; who
// may not has no full disks.
func (c *cluster) disks() error {
	for i := range nodes {
		at := filepath.Join(c.dir, name(i))
		if err := os.MkdirAll(at, 0o700); err != nil {
			return err
		}
		if err := mount(at, diskSize); err != nil {
			return errors.Join(fmt.Errorf("a disk of its own for %s: %w", name(i), err), c.undisk())
		}
		c.mounted = append(c.mounted, at)
	}
	return nil
}

func (c *cluster) undisk() error {
	var errs []error
	for _, at := range c.mounted {
		errs = append(errs, unmount(at))
	}
	c.mounted = nil
	return errors.Join(errs...)
}

// fill leaves no room on the node's disk.
func (c *cluster) fill(i int) error {
	f, err := os.Create(filepath.Join(c.dir, name(i), filler))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // what counts is that it is full
	for block := make([]byte, 1<<20); len(block) > 0; {
		_, err := f.Write(block)
		switch {
		case errors.Is(err, syscall.ENOSPC):
			block = block[:len(block)/2]
		case err != nil:
			return err
		}
	}
	return nil
}

// diskFull fills the node's disk, makes room again, and starts the node again as
// its keeper has to: nats-server gives up JetStream when it cannot write.
func diskFull(ctx context.Context, c *cluster, node int) error {
	if err := c.fill(node); err != nil {
		return err
	}
	sleep(ctx, 10*time.Second)
	if err := os.Remove(filepath.Join(c.dir, name(node), filler)); err != nil {
		return err
	}
	c.kill(node)
	return c.run(node)
}
