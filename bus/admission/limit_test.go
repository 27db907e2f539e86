package admission_test

import (
	"testing"

	"cairn/bus/admission"
)

func TestLimit(t *testing.T) {
	t.Parallel()
	l := admission.NewLimit(2)
	release, first := l.Acquire("k-1")
	_, second := l.Acquire("k-1")
	_, third := l.Acquire("k-1")
	_, granted := l.Acquire("k-2")
	if !first || !second || third || !granted {
		t.Errorf("acquired %t, %t, %t and %t of another key, want two units of each key", first, second, third, granted)
	}
	release()
	if _, ok := l.Acquire("k-1"); !ok {
		t.Error("a released unit is not available")
	}
	if _, ok := admission.NewLimit(0).Acquire("k-1"); !ok {
		t.Error("a unit was refused without a limit")
	}
}
