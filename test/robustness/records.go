package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// maxApplyTime is the time after its call within which a write of unknown outcome is
// applied, if at all: the deadline of a request is 15 s, and a partition may delay the
// message.
const maxApplyTime = 45 * time.Second

// CheckRecords returns the violations in the operations on records. The revisions of
// writes are the order in which they took effect, and it contradicts neither the order in
// which clients have seen them nor the values that were read: a read with a minimum
// revision returns the value of the last write up to that revision, or of a later one. Without the
// newest revision as its minimum, a read is not linearizable: it may omit later writes.
func CheckRecords(list []Operation) (violations []string) {
	var puts []Operation
	for _, o := range list {
		if o.Action == Put && !o.Unknown {
			puts = append(puts, o)
		}
	}
	violations = checkOrder(puts)
	for key, operations := range byKey(list) {
		r := newRecordHistory(operations)
		violations = append(violations, checkOrder(r.acknowledged)...)
		for _, o := range operations {
			if o.Action != Read || o.Unknown {
				continue
			}
			if problem := r.problem(o); problem != "" {
				violations = append(violations, fmt.Sprintf("client %d read %s at %v with minimum revision %d: %s",
					o.Client, key, o.Call, o.Revision, problem))
			}
		}
	}
	slices.Sort(violations)
	return slices.Compact(violations)
}

// checkOrder returns the pairs of acknowledged writes whose revisions contradict their
// order in time. A deletion of an absent record has the revision of an earlier write; two
// deletions have no order.
func checkOrder(writes []Operation) (violations []string) {
	slices.SortStableFunc(writes, func(a, b Operation) int { return cmp.Compare(a.Revision, b.Revision) })
	var latest, latestPut Operation // the earlier write that was called last
	for i, o := range writes {
		before := latest
		if o.Action == Delete {
			before = latestPut
		}
		if i > 0 && o.Returned < before.Call {
			violations = append(violations, fmt.Sprintf("%s %s has revision %d, after revision %d of a later %s",
				o.Action, o.Key, o.Revision, before.Revision, before.Action))
		}
		if i > 0 && o.Revision == writes[i-1].Revision && !o.shares(writes[i-1]) {
			violations = append(violations, fmt.Sprintf("two writes of %s have revision %d", o.Key, o.Revision))
		}
		if o.Call >= latest.Call {
			latest = o
		}
		if o.Action == Put && o.Call >= latestPut.Call {
			latestPut = o
		}
	}
	return violations
}

// recordHistory is the writes of one record.
type recordHistory struct {
	acknowledged []Operation // by revision
	unknown      []Operation
}

func newRecordHistory(list []Operation) (r recordHistory) {
	for _, o := range list {
		switch {
		case o.Action == Read:
		case o.Unknown:
			r.unknown = append(r.unknown, o)
		default:
			r.acknowledged = append(r.acknowledged, o)
		}
	}
	return r
}

// problem returns why the read contradicts the writes; empty: it does not.
func (r recordHistory) problem(read Operation) string {
	if read.Refused {
		return "the revision of an acknowledged write is beyond the log"
	}
	var newest Operation // the last write that the read must include; none: revision 0
	var later []Operation
	for _, o := range r.acknowledged {
		if o.Revision <= read.Revision {
			newest = o
		} else {
			later = append(later, o)
		}
	}
	if newest.Value == read.Value {
		return ""
	}
	if newest.Action == Delete && slices.ContainsFunc(r.acknowledged, func(o Operation) bool {
		return o.Value == read.Value && o.Revision <= newest.Revision && o.Returned >= newest.Call
	}) {
		return "" // the record was deleted when it was absent, before this write
	}
	possible := func(o Operation) bool {
		superseded := o.Unknown && newest.Call > o.Call+maxApplyTime
		return o.Value == read.Value && o.Call <= read.Returned && !superseded
	}
	if slices.ContainsFunc(later, possible) || slices.ContainsFunc(r.unknown, possible) {
		return ""
	}
	var got uint64 // revision of the value; 0: unknown
	for _, o := range r.acknowledged {
		if o.Value == read.Value && o.Revision <= read.Revision {
			got = o.Revision
		}
	}
	return fmt.Sprintf("got %q of revision %d, want %q of revision %d or a later value", read.Value, got, newest.Value,
		newest.Revision)
}
