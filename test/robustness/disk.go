package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

const (
	// diskSize is the capacity of a node's disk in MiB.
	diskSize = 192
	filler   = "filler"
)

// mountDisks mounts a small disk for each node, which requires root on Linux. Without
// disks, Run injects no full disks and no power failures.
func (c *cluster) mountDisks() error {
	for i := range nodes {
		if err := os.MkdirAll(c.directory(i), 0o700); err != nil {
			return err
		}
		if err := mount(c.directory(i), diskSize); err != nil {
			return errors.Join(fmt.Errorf("mount a disk for %s: %w", c.names[i], err), c.unmountAll())
		}
		c.mounted = append(c.mounted, c.directory(i))
	}
	return nil
}

// directory returns the directory with the node's data, the mount point of its disk.
func (c *cluster) directory(i int) string { return filepath.Join(c.dir, "disk"+strconv.Itoa(i)) }

func (c *cluster) unmountAll() error {
	var errs []error
	for _, at := range c.mounted {
		errs = append(errs, unmount(at))
	}
	c.mounted = nil
	return errors.Join(errs...)
}

// fill fills the node's disk.
func (c *cluster) fill(i int) error {
	f, err := os.Create(filepath.Join(c.directory(i), filler))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // the error is irrelevant once the disk is full
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
