package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// mount mounts an ext4 disk with size MiB at the directory. Its image is the file next to it with
// the extension .img, created if it does not exist. On a power failure, ext4 loses exactly the
// unsynced data.
func mount(directory string, size int64) error {
	image := directory + ".img"
	if _, err := os.Stat(image); err != nil {
		f, err := os.Create(image)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Truncate(size<<20), f.Close(), run("mkfs.ext4", "-q", "-F", "-m", "0", image)); err != nil {
			return err
		}
	}
	return run("mount", "-t", "ext4", "-o", "loop", image, directory)
}

func run(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	return nil
}

func unmount(directory string) error { return syscall.Unmount(directory, 0) }

const (
	// shutdown is FS_IOC_SHUTDOWN, and noFlush FS_SHUTDOWN_FLAGS_NOLOGFLUSH: the
	// filesystem stops immediately and discards data in memory (Linux,
	// uapi/linux/fs.h, ext4_force_shutdown).
	shutdown = 0x8004587d
	noFlush  = 2
)

// cutPower makes the filesystem at the directory discard data that was not synced. It rejects
// further writes until it is mounted again.
func cutPower(directory string) error {
	f, err := os.Open(directory)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened read-only
	return unix.IoctlSetPointerInt(int(f.Fd()), shutdown, noFlush)
}
