package replay

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/admission"
	"cairn/bus/bucket"
	"cairn/bus/retry"
	"cairn/schemas"
)

const (
	// batchBytes is the size in bytes at which buffered events are stored. They are
	// also stored by Store, AfterStored and Close.
	batchBytes = 8 << 10
	// maxUnstored bounds the buffered events of a run, in bytes. A run that sends more
	// waits until the replay stream has stored some.
	maxUnstored = 1 << 20
	// storeTimeout bounds the attempts to store a batch. The election of a leader takes less.
	storeTimeout = 30 * time.Second
	ackTimeout   = 2 * time.Second // of one attempt
)

// Headers of the messages of a run, for lists of runs.
const (
	headerStarted = "Cairn-Run-Started" // time at which the run started, RFC 3339
	headerState   = "Cairn-Run-State"   // outcome of the run, in the message with the last event
)

// runStarted is stored when a run starts, so that a run whose worker is lost before it has
// stored an event is known. It is a comment line of server-sent events instead of an empty message,
// which would end a stream of responses between NATS accounts.
const runStarted = ": started\n\n"

// Target is where a Writer stores the events of a run.
type Target struct {
	Location
	Tenant string
	Share  *admission.Pool // bytes that the runs of this worker store; the tenant has a part of it
	Log    *slog.Logger
}

// Writer stores the events of a run, one batch after the other. JetStream drops copies of a batch by
// its message ID. A Writer may be used concurrently.
type Writer struct {
	ctx      context.Context // bounds the attempts to store
	js       jetstream.JetStream
	target   Target
	maxBatch int    // maximum size of a batch in bytes
	started  string // RFC 3339
	held     int64  // bytes of the share; used by storeAll
	over     bool   // the tenant has exceeded its share; used by storeAll

	mu      sync.Mutex
	batches []*events     // to be stored; the first one is being stored if storing
	size    int           // of batches, in bytes
	last    uint64        // sequence of the last event
	outcome string        // state of the run after its error event; empty: none was added
	storing bool          // storeAll is running
	failed  bool          // a batch could not be stored; later ones are discarded
	due     uint64        // events up to this sequence are stored without waiting for more
	stored  chan struct{} // closed and replaced after each batch
	running sync.WaitGroup
}

// events is a batch of events, the payload of one message.
type events struct {
	first uint64 // sequence of the first event; 0: the start of the run
	state string // outcome of the run; empty: the batch does not contain the last event
	data  []byte
}

// NewWriter returns a writer that stores events until ctx ends. The caller closes it.
func NewWriter(ctx context.Context, js jetstream.JetStream, target Target) *Writer {
	return &Writer{
		ctx: ctx, js: js, target: target,
		started:  time.Now().UTC().Format(time.RFC3339Nano),
		maxBatch: int(js.Conn().MaxPayload() - bucket.HeaderRoom), stored: make(chan struct{}),
	}
}

// Begin starts to store that the run has started, without waiting. It precedes the first event.
func (w *Writer) Begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batches, w.size = []*events{{data: []byte(runStarted)}}, len(runStarted)
	w.start()
}

// Add adds the next event and returns its encoded form, which is valid until the next call.
func (w *Writer) Add(e Event) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = e.Sequence
	if w.failed {
		return e.Append(nil)
	}
	n := len(w.batches)
	open := n > 1 || n == 1 && !w.storing // the last batch is not being stored
	if !open || len(w.batches[n-1].data) >= batchBytes || len(w.batches[n-1].data)+len(e.Data) > w.maxBatch {
		w.batches = append(w.batches, &events{first: e.Sequence})
		n++
	}
	b := w.batches[n-1]
	before := len(b.data)
	b.data = e.Append(b.data)
	switch e.Type {
	case schemas.EventError:
		w.outcome = outcome(e)
	case schemas.EventDone:
		b.state = cmp.Or(w.outcome, schemas.RunDone)
	}
	w.size += len(b.data) - before
	if n > 1 || len(b.data) >= batchBytes {
		w.start()
	}
	return b.data[before:]
}

// outcome returns the state of a run that ends with the error event.
func outcome(e Event) string {
	var failure schemas.StreamError
	if err := json.Unmarshal(e.Data, &failure); err == nil && failure.Code == schemas.ErrRunStopped.Code {
		return schemas.RunCanceled
	}
	return schemas.RunFailed
}

// Store stores the events without waiting.
func (w *Writer) Store() {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.flush()
}

// flush starts to store the events. The returned function reports whether storing has ended, with
// or without success. The callers of both hold w.mu.
func (w *Writer) flush() (stored func() bool) {
	last := w.last
	w.due = last
	w.start()
	return func() bool { return len(w.batches) == 0 || w.batches[0].first > last }
}

// waitFor waits until condition, which it calls with w.mu held, returns true, or ctx ends.
func (w *Writer) waitFor(ctx context.Context, condition func() bool) error {
	for {
		w.mu.Lock()
		fulfilled, stored := condition(), w.stored
		w.mu.Unlock()
		if fulfilled {
			return nil
		}
		select {
		case <-stored:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// AfterStored calls do when all events are stored or storing them has failed.
func (w *Writer) AfterStored(do func()) {
	w.mu.Lock()
	if len(w.batches) == 0 {
		w.mu.Unlock()
		do()
		return
	}
	defer w.mu.Unlock()
	stored := w.flush()
	w.running.Go(func() { // storeAll is running, so Close waits for both
		_ = w.waitFor(context.Background(), stored) // storeTimeout bounds it
		do()
	})
}

// WaitStored waits for at most ackTimeout until all events are stored or storing them has failed.
func (w *Writer) WaitStored() {
	ctx, cancel := context.WithTimeout(context.Background(), ackTimeout)
	defer cancel()
	w.mu.Lock()
	stored := w.flush()
	w.mu.Unlock()
	_ = w.waitFor(ctx, stored)
}

// Close returns when all events are stored or storing them has failed. The events count towards the
// share of the tenant until all of them have expired.
func (w *Writer) Close() {
	w.Store()
	w.running.Wait()
	if w.held > 0 {
		time.AfterFunc(retention, func() { w.target.Share.Release(w.target.Tenant, w.held) })
	}
}

// Wait waits until the writer accepts more events.
func (w *Writer) Wait(ctx context.Context) error {
	return w.waitFor(ctx, func() bool { return w.size <= maxUnstored })
}

// Full reports whether Wait would block.
func (w *Writer) Full() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.size > maxUnstored
}

// start runs storeAll unless it is running. The caller holds w.mu.
func (w *Writer) start() {
	if !w.storing && len(w.batches) > 0 {
		w.storing = true
		w.running.Go(w.storeAll)
	}
}

// storeAll stores batches until none is due.
func (w *Writer) storeAll() {
	for {
		w.mu.Lock()
		b := w.batches[0]
		w.mu.Unlock()
		data, err := w.admit(b)
		if len(data) > 0 {
			err = w.publish(b, data)
		}
		if err != nil {
			w.target.Log.Warn("the replay stream does not store the events of a run: it cannot be resumed", "run",
				w.target.Subject, "err",
				err)
		}
		if !w.next(b, err) {
			return
		}
	}
}

const (
	// messageBytes is the part of the share that a message takes besides its data, in bytes: its subject
	// and headers.
	messageBytes = 384
	// minRunBytes is the part of the share that each run takes, in bytes: its first message, and one with
	// the done event.
	minRunBytes = 1 << 10
)

var errShare = errors.New("the tenant has exceeded its share of the replay stream")

// admit returns the data of the batch to store, within the tenant's share of the replay stream. Beyond the
// share a run is not stored, or only its done event, so that a client detects the missing events.
func (w *Writer) admit(b *events) ([]byte, error) {
	if b.first == 0 {
		if !w.acquire(minRunBytes) {
			return nil, errShare
		}
		return b.data, nil
	}
	if w.acquire(messageBytes + int64(len(b.data))) {
		return b.data, nil
	}
	if !w.over {
		w.over = true
		w.target.Log.Warn("the replay stream does not store all events of a run", "run", w.target.Subject, "err", errShare)
	}
	if b.state == "" {
		return nil, nil
	}
	return lastEvent(b.data), nil
}

// acquire takes n bytes of the share.
func (w *Writer) acquire(n int64) bool {
	if !w.target.Share.Acquire(w.target.Tenant, n) {
		return false
	}
	w.held += n
	return true
}

// lastEvent returns the last of the encoded events.
func lastEvent(events []byte) []byte {
	for {
		_, rest, ok := Parse(events)
		if !ok || len(rest) == 0 {
			return events
		}
		events = rest
	}
}

// publish publishes the data of a batch until JetStream acknowledges it.
func (w *Writer) publish(b *events, data []byte) error {
	msg := &nats.Msg{Subject: w.target.Subject, Data: data, Header: nats.Header{headerStarted: {w.started}}}
	if b.state != "" {
		msg.Header.Set(headerState, b.state)
	}
	id := w.target.Subject + "." + strconv.FormatUint(b.first, 10)
	ctx, cancel := context.WithTimeout(w.ctx, storeTimeout)
	defer cancel()
	retryable := func(err error) bool {
		return !errors.Is(err, nats.ErrConnectionClosed) && !errors.Is(err, jetstream.ErrStreamNotFound)
	}
	return retry.Do(ctx, retryable, func() error {
		ctx, cancel := context.WithTimeout(ctx, ackTimeout)
		defer cancel()
		_, err := w.js.PublishMsg(ctx, msg, jetstream.WithMsgID(id), jetstream.WithRetryAttempts(0))
		if errors.Is(err, jetstream.ErrNoStreamResponse) { // or the stream has no leader
			if _, missing := w.js.Stream(ctx, w.target.Stream); errors.Is(missing, jetstream.ErrStreamNotFound) {
				return missing
			}
		}
		return err
	})
}

// next removes the batch, or all batches if storing it has failed, and reports whether another batch
// is due.
func (w *Writer) next(b *events, err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batches, w.size = w.batches[1:], w.size-len(b.data)
	if err != nil {
		w.failed, w.batches, w.size = true, nil, 0
	}
	close(w.stored)
	w.stored = make(chan struct{})
	w.storing = len(w.batches) > 1 ||
		len(w.batches) == 1 && (w.batches[0].first <= w.due || len(w.batches[0].data) >= batchBytes)
	return w.storing
}
