package faults

import (
	"fmt"
	"syscall"
)

// mount has a disk of so many MiB, in memory, at the folder.
func mount(at string, size int) error {
	return syscall.Mount("tmpfs", at, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=0700", size))
}

func unmount(at string) error { return syscall.Unmount(at, syscall.MNT_DETACH) }
