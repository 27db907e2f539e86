package bus

import (
	"errors"
	"os"
	"path/filepath"
)

// writeDurably writes a small file atomically and syncs it, so that after a power
// failure it is complete or absent.
func writeDurably(path string, data []byte) error {
	unfinished := path + ".new"
	f, err := os.OpenFile(unfinished, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return renameDurably(unfinished, path)
}

// renameDurably renames a file or folder and syncs the parent folders, so that the
// rename survives a power failure.
func renameDurably(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	folders := []string{filepath.Dir(to)}
	if other := filepath.Dir(from); other != folders[0] {
		folders = append(folders, other)
	}
	for _, name := range folders {
		folder, err := os.Open(name)
		if err != nil {
			return err
		}
		if err := errors.Join(folder.Sync(), folder.Close()); err != nil {
			return err
		}
	}
	return nil
}
