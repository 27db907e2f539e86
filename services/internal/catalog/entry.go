package catalog

import (
	"errors"
	"fmt"
)

// ErrNotFound is returned by Get for a key without a record.
var ErrNotFound = errors.New("record not found")

// Condition decides from the revision of the current record, 0 for none, whether a write
// is performed. Its error is returned instead.
type Condition func(revision uint64) error

// Written is the outcome of a write.
type Written struct {
	Revision  uint64
	Unchanged bool // nothing was written: the revision is the current one
	Replaces  bool // there was another record
}

// wrap adds the operation and the key to a non-nil error.
func wrap(err error, attempted, encoded string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", attempted, encoded, err)
}
