package catalog

import (
	"testing"
	"time"
)

// TestAppliedPosition: after a follower has resumed, the position of its changes counts once the
// log was compared with the last one before.
func TestAppliedPosition(t *testing.T) {
	t.Parallel()
	apply := func(revision uint64, epoch int) func(*applied) {
		return func(a *applied) {
			a.recordApplied(Change{Revision: revision, Stored: time.Unix(int64(revision), 0)}, epoch)
		}
	}
	resume := (*applied).freeze
	compare := func(a *applied) {
		_, frozen := a.last()
		a.compared(frozen)
	}
	for _, row := range []struct {
		name  string
		steps []func(*applied)
		want  uint64
	}{
		{"a change is the position", []func(*applied){apply(1, 0), apply(3, 0)}, 3},
		{"an earlier change is not", []func(*applied){apply(3, 0), apply(1, 0)}, 3},
		{"a change after a resumption is not the position", []func(*applied){apply(1, 0), resume, apply(2, 0)}, 1},
		{"until the log was compared", []func(*applied){apply(1, 0), resume, apply(2, 0), compare}, 2},
		{"of two followers", []func(*applied){apply(1, 0), resume, apply(3, 0), apply(2, 0), compare}, 3},
		{"and later ones are again", []func(*applied){apply(1, 0), resume, compare, apply(2, 0)}, 2},
		{"a comparison before another resumption does not count", []func(*applied){apply(1, 0), resume, func(a *applied) {
			_, frozen := a.last()
			resume(a)
			a.compared(frozen)
		}, apply(2, 0)}, 1},
		{"a rollback forgets the position", []func(*applied){apply(1, 0), resume, apply(2, 0), (*applied).reset}, 0},
		{"and the changes of earlier followers", []func(*applied){apply(1, 0), (*applied).reset, apply(2, 0)}, 0},
		{"and not those of later ones", []func(*applied){resume, apply(1, 0), (*applied).reset, apply(2, 1)}, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var a applied
			for _, step := range row.steps {
				step(&a)
			}
			got, _ := a.last()
			if got.revision != row.want || got.revision > 0 && got.stored.Unix() != int64(got.revision) {
				t.Errorf("got revision %d of %v, want %d", got.revision, got.stored, row.want)
			}
		})
	}
}
