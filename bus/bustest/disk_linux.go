package bustest

import (
	"syscall"
	"testing"
)

// MountDisk mounts a file system of 64 MiB until the test ends, and returns its directory. It skips the test where
// that is not permitted.
func MountDisk(t testing.TB) string {
	t.Helper()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64m"); err != nil {
		t.Skip("a tmpfs cannot be mounted: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return disk
}
