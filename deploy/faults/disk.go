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

// disks gives each node a small disk of its own. Only root on Linux may; who may
// not has none that are full, and no power that fails.
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

// fill leaves no room on the node's disk.
func (c *cluster) fill(i int) error {
	f, err := os.Create(filepath.Join(c.folder(i), filler))
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
	if err := os.Remove(filepath.Join(c.folder(node), filler)); err != nil {
		return err
	}
	c.kill(node)
	return c.run(node)
}

// powerFails takes the power from the nodes at once: what their disks had not
// synced is gone. Then they are started again.
func (c *cluster) powerFails(ctx context.Context, list ...int) error {
	for _, i := range list {
		if err := c.stop(i); err != nil { // it does not see its disk fail
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
