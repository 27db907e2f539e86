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
	// diskSize is the capacity of a node's disk in MiB.
	diskSize = 192
	filler   = "filler"
)

// disks mounts a small disk for each node, which requires root on Linux. Without disks,
// Run injects no full disks and no power failures.
func (c *cluster) disks() error {
	for i := range nodes {
		if err := os.MkdirAll(c.folder(i), 0o700); err != nil {
			return err
		}
		if err := mount(c.folder(i), diskSize); err != nil {
			return errors.Join(fmt.Errorf("a disk of its own for %s: %w", name(i), err), c.undisk())
		}
		c.mounted = append(c.mounted, c.folder(i))
	}
	return nil
}

func (c *cluster) folder(i int) string { return filepath.Join(c.dir, name(i)) }

func (c *cluster) undisk() error {
	var errs []error
	for _, at := range c.mounted {
		errs = append(errs, unmount(at))
	}
	c.mounted = nil
	return errors.Join(errs...)
}

// fill fills the node's disk.
func (c *cluster) fill(i int) error {
	f, err := os.Create(filepath.Join(c.folder(i), filler))
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
func diskFull(ctx context.Context, c *cluster, node int) error {
	if err := c.fill(node); err != nil {
		return err
	}
	sleep(ctx, 10*time.Second)
	if err := os.Remove(filepath.Join(c.folder(node), filler)); err != nil {
		return err
	}
	c.kill(node)
	return c.run(node)
}

// powerFails simulates a simultaneous power failure of the nodes: their disks lose all
// data that was not synced. Then it restarts the nodes.
func (c *cluster) powerFails(ctx context.Context, list ...int) error {
	for _, i := range list {
		if err := c.stop(i); err != nil { // the process must not see its disk fail
			return err
		}
	}
	for _, i := range list {
		if err := cutPower(c.folder(i)); err != nil {
			return fmt.Errorf("cut the power of %s: %w", name(i), err)
		}
		c.kill(i)
	}
	sleep(ctx, 5*time.Second)
	for _, i := range list {
		if err := errors.Join(unmount(c.folder(i)), mount(c.folder(i), diskSize)); err != nil {
			return fmt.Errorf("start the disk of %s again: %w", name(i), err)
		}
		if err := c.run(i); err != nil {
			return err
		}
	}
	return nil
}
