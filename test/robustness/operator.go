package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"cairn/bus"
	"cairn/bus/keys"
	"cairn/schemas"
)

const (
	// keyInterval is the time between two operations on API keys, and between two writes of the record whose
	// history is checked: NATS has copied a revision to the history, and the server has written it, by then.
	keyInterval   = 200 * time.Millisecond
	historyStream = "cairn_history"
)

// operator is the clients of a stand-alone node that create and revoke API keys, and write a record whose history
// they check.
type operator struct {
	*workload
	conn *bus.Conn

	mu   sync.Mutex
	keys []apiKey
}

// apiKey is an API key whose creation was acknowledged.
type apiKey struct {
	id, text         string
	revoked, unknown bool // the outcome of its revocation, if any
}

// useKeys creates API keys, and revokes half of them, until ctx ends.
func (o *operator) useKeys(ctx context.Context, client int) {
	store, err := keys.Open(ctx, o.conn)
	if err != nil {
		o.report(err.Error())
		return
	}
	for random := o.random(client); ctx.Err() == nil; sleep(ctx, keyInterval) {
		o.useKey(ctx, store, random.IntN(2) == 0)
	}
}

func (o *operator) useKey(ctx context.Context, store *keys.Store, revoke bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.readTimeout)
	defer cancel()
	created, text, err := store.Create(ctx, keys.Key{Role: schemas.RoleReader})
	if err != nil {
		return
	}
	key := apiKey{id: created.ID, text: text}
	if revoke {
		err := store.Revoke(ctx, key.id)
		key.revoked, key.unknown = err == nil, err != nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.keys = append(o.keys, key)
}

// checkKeys returns the API keys that are valid although they were revoked, or the reverse.
func (o *operator) checkKeys(ctx context.Context) (violations []string) {
	ring := keys.NewRing(o.conn, slog.New(slog.DiscardHandler))
	o.mu.Lock()
	list := slices.Clone(o.keys)
	o.mu.Unlock()
	for _, key := range list {
		_, err := ring.Identify(ctx, key.text)
		if refused := errors.Is(err, keys.ErrUnknown); !key.unknown && (refused || err == nil) && refused != key.revoked {
			violations = append(violations,
				fmt.Sprintf("the API key %s, revoked: %t, is refused: %t", key.id, key.revoked, refused))
		}
	}
	return violations
}

// useHistory registers and deletes a record until ctx ends, no faster than NATS copies its revisions to the
// history.
func (o *operator) useHistory(ctx context.Context, client int) {
	random, last := o.random(client), Operation{}
	for n := 0; ctx.Err() == nil; n++ {
		write := Operation{Client: client, Key: o.recordKey("h", 0), Action: Put, Value: fmt.Sprint(client, "-", n)}
		if last.Action == Put && last.Revision > 0 && random.IntN(3) == 0 {
			write.Action, write.Value = Delete, ""
		}
		o.record(ctx, &write, o.timeout)
		for last = write; ctx.Err() == nil && !o.copied(ctx, write.Revision); {
			sleep(ctx, requestInterval)
		}
		sleep(ctx, keyInterval)
	}
}

// copied reports whether the history has the revision.
func (o *operator) copied(ctx context.Context, revision uint64) bool {
	ctx, cancel := context.WithTimeout(ctx, o.readTimeout)
	defer cancel()
	s, err := o.conn.JetStream().Stream(ctx, historyStream)
	return err == nil && s.CachedInfo().State.LastSeq >= revision
}

// checkHistory returns the violations in the history of the record.
func (o *operator) checkHistory(ctx context.Context) (violations []string) {
	var writes []Operation
	for _, write := range byKey(o.records.Operations())[o.recordKey("h", 0)] {
		if write.Action != Read && write.Revision > 0 {
			writes = append(writes, write)
		}
	}
	var history struct {
		Revisions []struct {
			Revision string
			Removed  bool
		}
	}
	res := o.send(ctx, request{method: http.MethodGet,
		url:     base(o.cluster, 0) + "/records/skill/" + o.recordKey("h", 0) + "/history",
		timeout: o.timeout})
	if res.status != http.StatusOK || json.Unmarshal(res.body, &history) != nil {
		if len(writes) > 0 {
			violations = append(violations, fmt.Sprintf("the history of a record: %d %s", res.status, res.body))
		}
		return violations
	}
	var list []Operation
	for _, r := range history.Revisions {
		token, _ := schemas.ParseConsistencyToken(r.Revision) // revision 0 is a violation
		entry := Operation{Action: Put, Revision: token.Revision}
		if r.Removed {
			entry.Action = Delete
		}
		list = append(list, entry)
	}
	return CheckHistory(writes, list)
}

// CheckHistory returns the violations in a history, newest first, with at least the acknowledged writes of a
// record, up to the limit of a history.
func CheckHistory(writes, history []Operation) (violations []string) {
	oldest, got := uint64(0), map[uint64]Action{}
	for i, o := range history {
		if got[o.Revision] = o.Action; i > 0 && o.Revision >= oldest {
			violations = append(violations, fmt.Sprintf("the history has revision %d after revision %d", o.Revision, oldest))
		}
		oldest = o.Revision
	}
	if len(history) < schemas.MaxHistory {
		oldest = 0
	}
	for _, o := range writes {
		if o.Revision >= oldest && got[o.Revision] != o.Action {
			violations = append(violations,
				fmt.Sprintf("the history has %q for revision %d, want %q", got[o.Revision], o.Revision, o.Action))
		}
	}
	return violations
}
