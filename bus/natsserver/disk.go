//go:build linux || darwin || freebsd

package natsserver

import "syscall"

// diskSpace returns the free and the total bytes of the file system with the directory; 0 if they are unknown.
func diskSpace(dir string) (free, total int64) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return 0, 0
	}
	return int64(fs.Bavail) * int64(fs.Bsize), int64(fs.Blocks) * int64(fs.Bsize) //nolint:unconvert,gosec // types differ
}
