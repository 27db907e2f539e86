package load_test

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"cairn/deploy/load"
)

// at answers after the duration that wait returns for the time since the start of the
// load.
func at(name string, wait func(since time.Duration) time.Duration) load.Operation {
	began := time.Now()
	return load.Operation{Name: name, Share: 1, Do: func(ctx context.Context, _ int) load.Answer {
		select {
		case <-time.After(wait(time.Since(began))):
			return load.Answer{}
		case <-ctx.Done():
			return load.Answer{Err: load.TimedOut}
		}
	}}
}

func always(d time.Duration) func(time.Duration) time.Duration {
	return func(time.Duration) time.Duration { return d }
}

// stalling answers in a millisecond, except for one second in which it does not answer.
func stalling(since time.Duration) time.Duration {
	if since >= 4*time.Second && since < 5*time.Second {
		return 5*time.Second - since
	}
	return time.Millisecond
}

func plan(o ...load.Operation) load.Plan {
	return load.Plan{Operations: o, Rate: 100, For: 10 * time.Second, Grace: 5 * time.Second, Connections: 1}
}

func near(t *testing.T, label string, got, want float64) {
	t.Helper()
	if got < 0.99*want || got > 1.01*want {
		t.Errorf("%s is %g; want about %g", label, got, want)
	}
}

// If a single connection stalls for a second, one request stalls, and the hundred
// requests that are due meanwhile are delayed.
func TestNoCoordinatedOmission(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := plan(at("stall", stalling)).Run(t.Context())
		m := r.Operations[0]
		if m.Count != 1000 || m.Failed() != 0 || len(r.Operations) != 1 {
			t.Fatalf("%d requests, %d failed; want 1000 and 0", m.Count, m.Failed())
		}
		near(t, "p50", m.Latency.At(50), 1)
		near(t, "p90", m.Latency.At(90), 100) // 111 requests are late, by 1000 to 0 ms in steps of 9 ms
		near(t, "p99", m.Latency.At(99), 910)
		near(t, "the longest", m.Latency.Max(), 1000)
		near(t, "rate", m.Rate(), 100)
		if r.Late < 0.1 || r.Late > 0.12 {
			t.Errorf("%g of the requests were late; want about 0.11", r.Late)
		}
		if r.Slipped != 0 {
			t.Errorf("%g of the requests slipped", r.Slipped)
		}
	})
}

// lateTimers is a context with which timers fire late, as on a busy machine.
type lateTimers struct {
	context.Context
	delay time.Duration
}

func (l lateTimers) Done() <-chan struct{} {
	time.Sleep(l.delay)
	return l.Context.Done()
}

// Late timers do not count as a shortage of connections.
func TestTimerDelayIsNotConnectionShortage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, row := range []struct {
			name          string
			took          time.Duration
			late, slipped bool
		}{
			{"a fast service", time.Millisecond, false, true},
			{"a slow service", 30 * time.Millisecond, true, true},
		} {
			r := plan(at("op", always(row.took))).Run(lateTimers{t.Context(), 50 * time.Millisecond})
			if r.Late > 0 != row.late || r.Slipped > 0 != row.slipped {
				t.Errorf("%s: %g late, %g slipped", row.name, r.Late, r.Slipped)
			}
		}
	})
}

func TestUnansweredRequestsAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := plan(at("hang", always(time.Hour)))
		p.For, p.Grace = time.Second, time.Second
		m := p.Run(t.Context()).Operations[0]
		if diff := cmp.Diff(map[string]int{load.TimedOut: 1, load.NotSent: 99}, m.Errors); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		near(t, "p50", m.Latency.At(50), 1500)
		near(t, "the longest", m.Latency.Max(), 2000)
	})
}

func TestWarmIsNotMeasured(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := plan(at("cold", func(since time.Duration) time.Duration {
			if since < time.Second {
				return 9 * time.Millisecond
			}
			return time.Millisecond
		}))
		p.Warm = time.Second
		m := p.Run(t.Context()).Operations[0]
		if m.Count != 1000 || m.Latency.Max() > 1.1 {
			t.Errorf("%d requests, the longest %g ms; want 1000 of 1 ms", m.Count, m.Latency.Max())
		}
	})
}

func TestSharesAndSum(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		often, seldom := at("often", always(time.Millisecond)), at("seldom", always(5*time.Millisecond))
		often.Share = 9
		seldom.Do = refusing(&atomic.Int64{}, seldom.Do)
		r := plan(often, seldom).Run(t.Context())
		if len(r.Operations) != 3 {
			t.Fatalf("%d operations", len(r.Operations))
		}
		total, rare := r.Operations[2], r.Operations[1]
		if total.Operation != "all" || total.Count != 1000 || rare.Count < 98 || rare.Count > 102 {
			t.Errorf("%s has %d, %s has %d", total.Operation, total.Count, rare.Operation, rare.Count)
		}
		if rare.Refused() != rare.Count/2 || total.Refused() != rare.Count/2 ||
			rare.Latency.Count() != rare.Count-rare.Count/2 {
			t.Errorf("refused %d of %d, %d of them have a latency", rare.Refused(), rare.Count, rare.Latency.Count())
		}
		if total.Refusals.Count() != rare.Refused() {
			t.Errorf("%d refused, %d latencies of refused requests", rare.Refused(), total.Refusals.Count())
		}
		near(t, "p90 of all", total.Latency.At(90), 1)
		near(t, "p99 of all", total.Latency.At(99), 5)
	})
}

// refusing refuses every second request.
func refusing(n *atomic.Int64, do func(context.Context, int) load.Answer) func(context.Context, int) load.Answer {
	return func(ctx context.Context, i int) load.Answer {
		if n.Add(1)%2 == 0 {
			return load.Answer{Err: "503 CE-011"}
		}
		return do(ctx, i)
	}
}

func TestFirstEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := load.Operation{Name: "stream", Share: 1, Stream: true, Do: func(context.Context, int) load.Answer {
			time.Sleep(2 * time.Millisecond)
			first := time.Now()
			time.Sleep(6 * time.Millisecond)
			return load.Answer{First: first}
		}}
		r := plan(o).Run(t.Context())
		if len(r.Operations) != 2 || r.Operations[0].Operation != "stream first event" {
			t.Fatalf("%d operations", len(r.Operations))
		}
		near(t, "first event", r.Operations[0].Latency.At(50), 2)
		near(t, "whole", r.Operations[1].Latency.At(50), 8)
	})
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second+3*time.Millisecond)
		defer cancel()
		r := plan(at("cut", always(5*time.Millisecond))).Run(ctx)
		m := r.Operations[0]
		if !r.Interrupted || m.Count != 300 || m.Failed() != 0 {
			t.Errorf("interrupted %t, %d requests, %v; want 300 and no error", r.Interrupted, m.Count, m.Errors)
		}
		near(t, "rate", m.Rate(), 100)
	})
}

// At the highest rate, the single connection is always busy.
func TestHighest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, took := range []time.Duration{time.Millisecond, 200 * time.Millisecond} {
			reported := 0
			r := plan(at("busy", always(took))).Highest(t.Context(),
				load.Bounds{P99: 300 * time.Millisecond, Step: 30 * time.Second}, func(load.Step) { reported++ })
			if want := float64(time.Second / took); r.Rate < 0.9*want || r.Rate > 1.02*want {
				t.Errorf("of %v: %g a second; want nearly %g", took, r.Rate, want)
			}
			if last := r.Steps[len(r.Steps)-1]; len(r.Steps) != reported || !last.Held || last.Rate != r.Rate {
				t.Errorf("%d steps reported, %d returned, the last %+v", reported, len(r.Steps), last)
			}
		}
	})
}

func TestHighestRateWithErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := at("broken", always(0))
		o.Do = refusing(&atomic.Int64{}, o.Do)
		last := time.Now().Add(-time.Minute)
		r := plan(o).Highest(t.Context(), load.Bounds{P99: time.Second, Errors: 0.1, Step: 5 * time.Second}, func(load.Step) {
			if gap := time.Since(last); gap < 8*time.Second {
				t.Errorf("the next rate was tried %v after a rate that was too high", gap)
			}
			last = time.Now()
		})
		if r.Rate != 1 || r.Steps[0].Held || r.Steps[0].Errors < 0.4 {
			t.Errorf("rate %g, first step %+v", r.Rate, r.Steps[0])
		}
	})
}

func TestJSONRoundTrip(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := plan(at("stall", stalling)).Run(t.Context())
		r.Name, r.Environment = "stall", load.Here()
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var back load.Result
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		same := cmp.Options{cmpopts.EquateEmpty(), cmp.Comparer(func(a, b *load.Latency) bool {
			x, _ := json.Marshal(a)
			y, _ := json.Marshal(b)
			return bytes.Equal(x, y)
		})}
		if diff := cmp.Diff(r, &back, same); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	var broken load.Latency
	if err := json.Unmarshal([]byte(`{"hdr_histogram_us": "HISTFAAAAA"}`), &broken); err == nil {
		t.Error("an invalid histogram was accepted")
	}
}
