package faults

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// mount has a disk of so many MiB at the folder, in the file beside it, which is
// made unless it is there. It is ext4, which loses what was not synced, and no
// more, when its power fails.
func mount(at string, size int64) error {
	image := at + ".img"
	if _, err := os.Stat(image); err != nil {
		f, err := os.Create(image)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Truncate(size<<20), f.Close(), run("mkfs.ext4", "-q", "-F", "-m", "0", image)); err != nil {
			return err
		}
	}
	return run("mount", "-t", "ext4", "-o", "loop", image, at)
}

func run(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	return nil
}

func unmount(at string) error { return syscall.Unmount(at, 0) }

const (
	// shutdown is FS_IOC_SHUTDOWN, and noFlush FS_SHUTDOWN_FLAGS_NOLOGFLUSH: the
	// filesystem stops as it is, and does not write what it has in memory (Linux,
	// uapi/linux/fs.h, ext4_force_shutdown).
	shutdown = 0x8004587d
	noFlush  = 2
)

// cutPower has the disk at the folder forget what was not synced. It takes
// nothing more until it is mounted anew.
func cutPower(at string) error {
	f, err := os.Open(at)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	return unix.IoctlSetPointerInt(int(f.Fd()), shutdown, noFlush)
}
