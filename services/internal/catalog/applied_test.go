package catalog

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// TestAppliedPositions: the last change of each session is evidence of a rollback until the log was
// compared with it.
func TestAppliedPositions(t *testing.T) {
	t.Parallel()
	apply := func(revision uint64, epoch int) func(*applied) {
		return func(a *applied) {
			a.recordApplied(Change{Revision: revision, Stored: time.Unix(int64(revision), 0)}, epoch)
		}
	}
	resume := (*applied).endSession
	check := func(a *applied) {
		positions, _, _ := a.unchecked()
		a.checked(positions)
	}
	var slow []position
	begin := func(a *applied) { slow, _, _ = a.unchecked() }
	end := func(a *applied) { a.checked(slow) }
	for _, row := range []struct {
		name  string
		steps []func(*applied)
		want  []uint64
	}{
		{"the last change of a session", []func(*applied){apply(1, 0), apply(3, 0)}, []uint64{3}},
		{"an earlier change is none", []func(*applied){apply(3, 0), resume, apply(1, 0)}, []uint64{3}},
		{"each session has one", []func(*applied){apply(1, 0), resume, apply(2, 0), resume, apply(3, 0), apply(4, 0)}, []uint64{1, 2, 4}},
		{"a session without changes has none", []func(*applied){apply(1, 0), resume, resume, apply(2, 0)}, []uint64{1, 2}},
		{"a comparison leaves the last one", []func(*applied){apply(1, 0), resume, apply(2, 0), check}, []uint64{2}},
		{"also before the first change of a session", []func(*applied){apply(1, 0), resume, check, apply(2, 0)}, []uint64{1, 2}},
		{"changes during a comparison are not compared", []func(*applied){
			apply(1, 0), resume, apply(2, 0), begin, resume, apply(3, 0), end}, []uint64{2, 3}},
		{"nor those after a faster one", []func(*applied){
			apply(1, 0), resume, apply(2, 0), begin, check, resume, apply(3, 0), end}, []uint64{2, 3}},
		{"a comparison without changes", []func(*applied){check}, nil},
		{"a reset forgets all", []func(*applied){apply(1, 0), resume, apply(2, 0), (*applied).reset}, nil},
		{"and the changes of earlier followers", []func(*applied){apply(1, 0), (*applied).reset, apply(2, 0)}, nil},
		{"and not those of later ones", []func(*applied){resume, apply(3, 0), (*applied).reset, apply(2, 1)}, []uint64{2}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var a applied
			for _, step := range row.steps {
				step(&a)
			}
			positions, _, _ := a.unchecked()
			var got []uint64
			for _, p := range positions {
				if got = append(got, p.revision); p.stored.Unix() != int64(p.revision) {
					t.Errorf("revision %d was stored at %v", p.revision, p.stored)
				}
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("got revisions %d, want %d", got, row.want)
			}
		})
	}
}

// TestRollbackIsRemembered: a rollback that a comparison has found is reported although later
// writes replace the revision that shows it, until the followers start again.
func TestRollbackIsRemembered(t *testing.T) {
	t.Parallel()
	var a applied
	a.foundRollback(ErrRolledBack, 0)
	if _, _, err := a.unchecked(); !errors.Is(err, ErrRolledBack) {
		t.Errorf("got %v, want %v", err, ErrRolledBack)
	}
	a.reset()
	a.foundRollback(ErrRolledBack, 0) // by a comparison that began before
	if _, _, err := a.unchecked(); err != nil {
		t.Errorf("after a reset: got %v, want none", err)
	}
}
