package catalog

import (
	"slices"
	"testing"
	"time"
)

// TestAppliedPositions: the last change of each session is evidence of a rollback until the log was
// compared with it.
func TestAppliedPositions(t *testing.T) {
	t.Parallel()
	apply := func(revision uint64) func(*applied) {
		return func(a *applied) { a.record(Change{Revision: revision, Stored: time.Unix(int64(revision), 0)}) }
	}
	resume := (*applied).endSession
	check := func(a *applied) {
		for _, p := range a.unchecked() {
			a.checked(p)
		}
	}
	var slow []position
	begin := func(a *applied) { slow = a.unchecked() }
	end := func(a *applied) {
		for _, p := range slow {
			a.checked(p)
		}
	}
	for _, row := range []struct {
		name  string
		steps []func(*applied)
		want  []uint64
	}{
		{"the last change of a session", []func(*applied){apply(1), apply(3)}, []uint64{3}},
		{"an earlier change is none", []func(*applied){apply(3), resume, apply(1)}, []uint64{3}},
		{"each session has one", []func(*applied){apply(1), resume, apply(2), resume, apply(3), apply(4)}, []uint64{1, 2, 4}},
		{"a session without changes has none", []func(*applied){apply(1), resume, resume, apply(2)}, []uint64{1, 2}},
		{"a comparison leaves the last one", []func(*applied){apply(1), resume, apply(2), check}, []uint64{2}},
		{"also before the first change of a session", []func(*applied){apply(1), resume, check, apply(2)}, []uint64{1, 2}},
		{"changes during a comparison are not compared", []func(*applied){
			apply(1), resume, apply(2), begin, resume, apply(3), end}, []uint64{2, 3}},
		{"nor those of the same session", []func(*applied){apply(1), resume, apply(2), begin, apply(3), end}, []uint64{3}},
		{"a comparison without changes", []func(*applied){check}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			var a applied
			for _, step := range row.steps {
				step(&a)
			}
			var got []uint64
			for _, p := range a.unchecked() {
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
