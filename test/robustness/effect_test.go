package main

import (
	"testing"
	"time"
)

// A third of the requests at healthy nodes time out, while the longest time without a
// response stays short.
func TestEffectCountsTimeouts(t *testing.T) {
	t.Parallel()
	var list []Sample
	for n := range 300 {
		s := Sample{Node: n % 3, Call: time.Duration(n) * 100 * time.Millisecond, Took: time.Millisecond}
		if n%9 < 3 {
			s.Took, s.Failed = 10*time.Second, true
		}
		list = append(list, s)
	}
	want := Effect{Asked: 200, Failed: 68, Slow: 68, P99: 10 * time.Second, None: 499 * time.Millisecond}
	got := EffectOf(list, []int{1}, 0, 30*time.Second)
	if got.None > time.Second {
		t.Errorf("the longest time without a response is %v", got.None)
	}
	if got.None = want.None; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if all := EffectOf(list, nil, 10*time.Second, 20*time.Second); all.Asked != 100 {
		t.Errorf("%d requests at all nodes in a third of the time, want 100", all.Asked)
	}
	if none := EffectOf(nil, nil, 0, time.Second); none != (Effect{None: time.Second}) {
		t.Errorf("without requests: %+v", none)
	}
}
