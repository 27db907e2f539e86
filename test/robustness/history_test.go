package main

import (
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// op returns an operation on one key; call and returned are in seconds.
func op(action Action, value string, call, returned time.Duration) Operation {
	return Operation{Action: action, Key: "k", Value: value, Call: call * time.Second, Returned: returned * time.Second}
}

func unknown(o Operation) Operation { o.Unknown = true; return o }
func refused(o Operation) Operation { o.Refused = true; return o }

// expiring returns the creation of a tag that expires 10 s later.
func expiring(o Operation) Operation { o.TTL = 10 * time.Second; return o }

// skewed returns the creation of a tag while the clocks of the servers differ by 3 s.
func skewed(o Operation) Operation { o.Skew = 3 * time.Second; return o }

// at returns a write with a revision, or a read with a minimum revision.
func at(revision uint64, o Operation) Operation { o.Revision = revision; return o }

// TestTagHistories checks histories whose linearization is not obvious.
func TestTagHistories(t *testing.T) {
	t.Parallel()
	for name, list := range map[string][]Operation{
		"a read at the time of a write sees either": {
			op(Create, "a", 1, 5), op(Read, "", 2, 3), op(Read, "a", 3, 4),
		},
		"a write of unknown outcome takes effect later": {
			unknown(op(Create, "a", 1, 2)), op(Read, "", 3, 4), op(Read, "a", 5, 6),
		},
		"a write of unknown outcome never takes effect": {
			unknown(op(Create, "a", 1, 2)), op(Create, "b", 3, 4), op(Read, "b", 5, 6),
		},
		"a delete of unknown outcome": {
			op(Create, "a", 1, 2), unknown(op(Delete, "", 3, 4)), op(Read, "a", 5, 6), op(Read, "", 7, 8),
		},
		"a read of unknown outcome is ignored": {
			op(Create, "a", 1, 2), unknown(op(Read, "", 3, 4)),
		},
		"a tag expires within a second of its deadline": {
			expiring(op(Create, "a", 1, 2)), op(Read, "a", 12, 13), op(Read, "", 13, 14),
		},
		"a tag expires at its deadline": {
			expiring(op(Create, "a", 1, 2)), op(Read, "a", 10, 11), op(Read, "", 11, 12), op(Create, "b", 12, 13),
		},
		"a replica whose clock is ahead removes a tag early, another one has it": {
			skewed(expiring(op(Create, "a", 1, 2))), op(Read, "", 7, 8), op(Read, "a", 9, 10), op(Read, "", 10, 11),
			op(Create, "b", 12, 13),
			op(Read, "b", 14, 15),
		},
		"a replica whose clock is behind removes a tag late": {
			skewed(expiring(op(Create, "a", 1, 2))), op(Read, "a", 15, 16), op(Read, "", 17, 18),
		},
		"a deletion at a replica that has removed the tag early has no effect": {
			skewed(expiring(op(Create, "a", 1, 2))), op(Delete, "", 8, 9), op(Read, "a", 9, 10),
		},
		"a creation of unknown outcome expires at any later time": {
			unknown(expiring(op(Create, "a", 1, 2))), op(Read, "a", 20, 21), op(Read, "", 22, 23),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, _ := CheckTags(list, time.Minute); got != porcupine.Ok {
				t.Errorf("%v, want a linearizable history", got)
			}
		})
	}
}

// TestCheckerFindsPlantedBugsInTags checks that the checker accepts each correct history, and rejects
// it with the bug.
func TestCheckerFindsPlantedBugsInTags(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		bug              string
		correct, planted []Operation
	}{
		{"a former leader answers reads from its stale state",
			[]Operation{op(Create, "a", 1, 2), op(Delete, "", 3, 4), op(Read, "", 5, 6)},
			[]Operation{op(Create, "a", 1, 2), op(Delete, "", 3, 4), op(Read, "a", 5, 6)}},
		{"an acknowledged write is lost",
			[]Operation{op(Create, "a", 1, 2), op(Read, "a", 3, 4)},
			[]Operation{op(Create, "a", 1, 2), op(Read, "", 3, 4)}},
		{"replicas answer reads in turn during a write",
			[]Operation{op(Create, "a", 1, 9), op(Read, "", 2, 3), op(Read, "a", 4, 5)},
			[]Operation{op(Create, "a", 1, 9), op(Read, "a", 2, 3), op(Read, "", 4, 5)}},
		{"two leaders create the same key",
			[]Operation{op(Create, "a", 1, 4), refused(op(Create, "b", 2, 3))},
			[]Operation{op(Create, "a", 1, 4), op(Create, "b", 2, 3)}},
		{"a worker whose clock is ahead replaces a tag",
			[]Operation{op(Create, "a", 1, 2), refused(op(Create, "b", 3, 4)), op(Read, "a", 5, 6)},
			[]Operation{op(Create, "a", 1, 2), op(Create, "b", 3, 4), op(Read, "b", 5, 6)}},
		{"a tag expires earlier than the difference of the clocks permits",
			[]Operation{skewed(expiring(op(Create, "a", 1, 2))), op(Read, "", 7, 8)},
			[]Operation{skewed(expiring(op(Create, "a", 1, 2))), op(Read, "", 5, 7)}},
		{"a tag expires later than the difference of the clocks permits",
			[]Operation{skewed(expiring(op(Create, "a", 1, 2))), op(Read, "a", 16, 18)},
			[]Operation{skewed(expiring(op(Create, "a", 1, 2))), op(Read, "a", 17, 18)}},
		{"an earlier tag returns after another one was created",
			[]Operation{skewed(expiring(op(Create, "a", 1, 2))), op(Create, "b", 9, 10), op(Read, "b", 11, 12)},
			[]Operation{skewed(expiring(op(Create, "a", 1, 2))), op(Create, "b", 9, 10), op(Read, "a", 11, 12)}},
		{"a deleted key cannot be created again",
			[]Operation{op(Create, "a", 1, 2), op(Delete, "", 3, 4), op(Create, "b", 5, 6)},
			[]Operation{op(Create, "a", 1, 2), op(Delete, "", 3, 4), refused(op(Create, "b", 5, 6))}},
		{"a read returns a value of another key",
			[]Operation{op(Create, "a", 1, 2), op(Read, "a", 3, 4)},
			[]Operation{op(Create, "a", 1, 2), op(Read, "b", 3, 4)}},
		{"a retried write is applied after a deletion",
			[]Operation{op(Create, "a", 1, 2), op(Delete, "", 3, 4), op(Read, "", 5, 6), op(Read, "", 7, 8)},
			[]Operation{op(Create, "a", 1, 2), op(Delete, "", 3, 4), op(Read, "", 5, 6), op(Read, "a", 7, 8)}},
		{"a tag expires before its deadline",
			[]Operation{expiring(op(Create, "a", 1, 2)), op(Read, "", 11, 12)},
			[]Operation{expiring(op(Create, "a", 1, 2)), op(Read, "", 9, 10)}},
		{"a tag does not expire",
			[]Operation{expiring(op(Create, "a", 1, 2)), op(Read, "a", 13, 15)},
			[]Operation{expiring(op(Create, "a", 1, 2)), op(Read, "a", 14, 15)}},
		{"an expired tag prevents the creation of another one",
			[]Operation{expiring(op(Create, "a", 1, 2)), op(Create, "b", 14, 15)},
			[]Operation{expiring(op(Create, "a", 1, 2)), refused(op(Create, "b", 14, 15))}},
		{"one replica has removed an expired tag, another has not",
			[]Operation{expiring(op(Create, "a", 1, 2)), op(Read, "a", 11, 12), op(Read, "", 13, 14)},
			[]Operation{expiring(op(Create, "a", 1, 2)), op(Read, "", 11, 12), op(Read, "a", 13, 14)}},
	} {
		t.Run(row.bug, func(t *testing.T) {
			t.Parallel()
			if got, _ := CheckTags(row.correct, time.Minute); got != porcupine.Ok {
				t.Errorf("%v for the correct history", got)
			}
			if got, _ := CheckTags(row.planted, time.Minute); got != porcupine.Illegal {
				t.Errorf("%v for the planted bug", got)
			}
		})
	}
}

// Like TestCheckerFindsPlantedBugsInTags, for records.
func TestCheckerFindsPlantedBugsInRecords(t *testing.T) {
	t.Parallel()
	// Two registrations and a deletion with the revisions 1, 3 and 5.
	written := func(later ...Operation) []Operation {
		return append([]Operation{at(1, op(Put, "a", 1, 2)), at(3, op(Put, "b", 3, 4)), at(5, op(Delete, "", 5, 6))},
			later...)
	}
	other := func(o Operation) Operation { o.Key = "other"; return o }
	for _, row := range []struct {
		bug              string
		correct, planted []Operation
	}{
		{"a read ignores its minimum revision",
			written(at(3, op(Read, "b", 7, 8))), written(at(3, op(Read, "a", 7, 8)))},
		{"a read without a minimum revision invents a value",
			written(at(0, op(Read, "a", 7, 8))), written(at(0, op(Read, "c", 7, 8)))},
		{"a deletion after a registration is lost",
			written(at(7, op(Put, "d", 7, 9)), at(8, op(Delete, "", 8, 10)), at(8, op(Read, "d", 11, 12))),
			written(at(7, op(Put, "d", 7, 9)), at(8, op(Delete, "", 10, 11)), at(8, op(Read, "d", 12, 13)))},
		{"a deletion has the revision of a registration before it",
			written(at(7, op(Put, "d", 7, 9)), at(7, op(Delete, "", 8, 10)), at(7, op(Read, "d", 11, 12))),
			written(at(7, op(Put, "d", 7, 9)), at(7, op(Delete, "", 10, 11)), at(7, op(Read, "d", 12, 13)))},
		{"a deletion is lost",
			written(at(5, op(Read, "", 7, 8))), written(at(5, op(Read, "b", 7, 8)))},
		{"a registration after a deletion is lost",
			written(at(7, op(Put, "d", 7, 8)), at(7, op(Read, "d", 9, 10))),
			written(at(7, op(Put, "d", 7, 8)), at(7, op(Read, "", 9, 10)))},
		{"a registration gets a revision before earlier ones",
			written(at(7, op(Put, "d", 7, 8))), written(at(2, op(Put, "d", 7, 8)))},
		{"the registrations of two records get the same revision",
			written(at(7, other(op(Put, "d", 7, 8)))), written(at(3, other(op(Put, "d", 3, 4))))},
		{"a deletion gets a revision before the registration that it deletes",
			written(at(5, op(Delete, "", 7, 8))), written(at(7, op(Put, "d", 7, 8)), at(5, op(Delete, "", 9, 10)))},
		{"a read returns a registration that is not yet sent",
			written(at(7, op(Put, "d", 9, 10)), at(5, op(Read, "", 7, 8))),
			written(at(7, op(Put, "d", 9, 10)), at(5, op(Read, "d", 7, 8)))},
		{"an acknowledged revision does not exist",
			written(at(5, op(Read, "", 7, 8))), written(refused(at(5, op(Read, "", 7, 8))))},
		{"a registration of unknown outcome takes effect after a minute",
			written(unknown(op(Put, "u", 1, 2)), at(7, op(Put, "d", 40, 41)), at(7, op(Read, "u", 60, 61))),
			written(unknown(op(Put, "u", 1, 2)), at(7, op(Put, "d", 50, 51)), at(7, op(Read, "u", 60, 61)))},
	} {
		t.Run(row.bug, func(t *testing.T) {
			t.Parallel()
			if got := CheckRecords(row.correct); len(got) > 0 {
				t.Errorf("the correct history: %q", got)
			}
			if got := CheckRecords(row.planted); len(got) == 0 {
				t.Error("the planted bug is not found")
			}
		})
	}
}

// Like TestCheckerFindsPlantedBugsInTags, for the history of a record.
func TestCheckHistory(t *testing.T) {
	t.Parallel()
	// A record with the revisions 1 to 12, of which 12 deletes it.
	var writes []Operation
	for n := range uint64(11) {
		writes = append(writes, at(n+1, op(Put, "a", 1, 2)))
	}
	writes = append(writes, at(12, op(Delete, "", 1, 2)))
	newestFirst := func(list []Operation) []Operation {
		list = slices.Clone(list)
		slices.Reverse(list)
		return list
	}
	removed := func(n int) []Operation { return slices.Delete(slices.Clone(writes), n, n+1) }
	for name, row := range map[string]struct {
		history []Operation
		want    int
	}{
		"the last 10 revisions":            {newestFirst(writes[2:]), 0},
		"an unacknowledged revision":       {newestFirst(append(slices.Clone(writes[3:]), at(13, op(Put, "", 1, 2)))), 0},
		"a revision is missing":            {newestFirst(removed(7)[2:]), 3}, // and revisions 1 and 2 of a short history
		"the deletion is missing":          {newestFirst(writes[1:11]), 1},
		"the revisions have another order": {writes[2:], 9},
	} {
		if got := CheckHistory(writes, row.history); len(got) != row.want {
			t.Errorf("%s: got %q, want %d violations", name, got, row.want)
		}
	}
}

// Like TestCheckerFindsPlantedBugsInTags, for the events of an analysis.
func TestCheckerFindsPlantedBugsInAnalyses(t *testing.T) {
	t.Parallel()
	text := func(sequence uint64, text string) Received {
		return Received{Type: "text_delta", Sequence: sequence, Text: text}
	}
	done := func(sequence uint64) Received { return Received{Type: "done", Sequence: sequence} }
	failed := func(sequence uint64) Received { return Received{Type: "error", Sequence: sequence} }
	const answer = "abc"
	complete := []Received{text(1, "a"), text(2, "b"), text(3, "c"), done(4)}
	for _, row := range []struct {
		bug     string
		events  []Received
		correct []Received
		want    string
	}{
		{"an event is missing", []Received{text(1, "a"), text(3, "c"), done(4)}, complete, Complete},
		{"an event is sent twice", []Received{text(1, "a"), text(2, "b"), text(2, "b"), text(3, "c"), done(4)}, complete,
			Complete},
		{"a run has other events after a resumption", []Received{text(1, "a"), text(2, "c"), text(3, "c"), done(4)}, complete,
			Complete},
		{"a run ends early", []Received{text(1, "a"), done(2)}, complete, Complete},
		{"a stopped run has no done", []Received{text(1, "a"), failed(2)}, []Received{text(1, "a"), failed(2), done(3)},
			Stopped},
		{"an edge sends events after the end", []Received{text(1, "a"), failed(0), done(0), text(2, "b")},
			[]Received{text(1, "a"), failed(0), done(0)}, Stopped},
	} {
		t.Run(row.bug, func(t *testing.T) {
			t.Parallel()
			if got, err := (Analysis{Events: row.correct}).Check(answer); got != row.want || err != nil {
				t.Errorf("the correct events: %q, %v", got, err)
			}
			if got, err := (Analysis{Events: row.events}).Check(answer); err == nil {
				t.Errorf("the planted bug is not found: %q", got)
			}
		})
	}
	for _, lost := range []Analysis{{NoneFollow: true, Events: complete[:2]}, {Events: complete[:2]}} {
		if got, err := lost.Check(answer); err == nil {
			t.Errorf("a run without an end: %q", got)
		}
	}
	if got, err := (Analysis{Lost: true, Events: complete[:2]}).Check(answer); got != Lost || err != nil {
		t.Errorf("a run that is no longer known: %q, %v", got, err)
	}
}
