package replay

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/admission"
	"cairn/schemas"
)

const (
	// batchBytes is the size in bytes at which buffered events are stored. They are
	// also stored by Store, AfterStored and Close.
	batchBytes = 8 << 10
	// maxUnstored bounds the buffered events of a run, in bytes. A run that sends more
	// waits until the replay stream has stored some.
	maxUnstored = 1 << 20
	// storeTimeout bounds the attempts to store a batch. The election of a leader takes
	// less.
	storeTimeout = 30 * time.Second
	// headerRoom is the part of max_payload that is reserved for headers, in bytes.
	headerRoom = 4 << 10
	// ackTimeout bounds one attempt.
	ackTimeout = 2 * time.Second
	// maxStoreInterval is the longest interval between two attempts.
	maxStoreInterval = 500 * time.Millisecond
)

// Headers of the messages of a run, for lists of runs.
const (
	headerStarted = "Cairn-Run-Started" // time at which the run started, RFC 3339
	headerState   = "Cairn-Run-State"   // of the message with the last event: how the run has ended
)

// runStarted is stored when a run starts, so that a run whose worker is lost before it has
// stored an event is known. It is a comment of a server-sent event, and not empty: between NATS
// accounts an empty message ends a stream of responses.
const runStarted = ": started\n\n"

// Writer stores the events of a run in the replay stream, in order and once: it
// publishes a batch of events until JetStream acknowledges it, and then the next one.
// JetStream drops copies of a batch by its message ID. A Writer may be used
// concurrently.
type Writer struct {
	ctx     context.Context // ends the attempts to store
	js      jetstream.JetStream
	log     *slog.Logger
	stream  string // name in JetStream
	subject string
	largest int // size of a batch in bytes
	tenant  string
	started string          // RFC 3339
	share   *admission.Pool // bytes that the runs of this worker store
	held    int64           // bytes of share; used by storeAll
	over    bool            // the tenant has exceeded its share; used by storeAll

	mu      sync.Mutex
	batches []*events     // to be stored; the first one is being stored if storing
	size    int           // of batches, in bytes
	last    uint64        // sequence of the last event
	outcome string        // state of the run after its error event; empty: none was added
	storing bool          // storeAll is running
	failed  bool          // a batch could not be stored; later ones are discarded
	flushes []flush       // pending calls of AfterStored
	stored  chan struct{} // signalled after each batch
	running sync.WaitGroup
}

// events is a batch of events, the payload of one message.
type events struct {
	first uint64 // sequence of the first event; 0: the start of the run
	state string // of the run after its last event; empty: the batch does not have that
	data  []byte
}

// flush is a function to be called when an event is stored.
type flush struct {
	last uint64 // sequence of the event
	call func()
}

// NewWriter returns a writer to the subject of the stream. The end of ctx ends its attempts to
// Store events. They count towards the tenant's share of pool. The caller closes the writer.
func NewWriter(
	ctx context.Context, js jetstream.JetStream, stream, subject, tenant string, pool *admission.Pool, log *slog.Logger,
) *Writer {
	return &Writer{
		ctx: ctx, js: js, log: log, tenant: tenant, share: pool, stream: stream, subject: subject,
		started: time.Now().UTC().Format(time.RFC3339Nano),
		largest: int(js.Conn().MaxPayload() - headerRoom), stored: make(chan struct{}, 1),
	}
}

// Begin stores that the run has started. It precedes the first event.
func (w *Writer) Begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batches, w.size = []*events{{data: []byte(runStarted)}}, len(runStarted)
	w.start()
}

// Add adds the next event and returns its encoded form, which is valid until the next
// call.
func (w *Writer) Add(e Event) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = e.Sequence
	if w.failed {
		return e.Append(nil)
	}
	n := len(w.batches)
	open := n > 1 || n == 1 && !w.storing // the last batch is not being stored
	if !open || len(w.batches[n-1].data) >= batchBytes || len(w.batches[n-1].data)+len(e.Data) > w.largest {
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
	w.start()
}

// AfterStored calls do when all events are stored, or could not be.
func (w *Writer) AfterStored(do func()) {
	if w.request(do) {
		do()
	}
}

// AwaitStored waits until all events are stored, or could not be, for at most ackTimeout.
func (w *Writer) AwaitStored() {
	stored := make(chan struct{})
	w.AfterStored(func() { close(stored) })
	select {
	case <-stored:
	case <-time.After(ackTimeout):
	}
}

// request makes next call do when all events are stored, and reports whether they are.
func (w *Writer) request(do func()) (stored bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.batches) == 0 {
		return true
	}
	w.flushes = append(w.flushes, flush{w.last, do})
	w.start()
	return false
}

// Close stores the events and returns when that is done. The events count towards the share
// of the tenant until all of them have expired.
func (w *Writer) Close() {
	w.AfterStored(func() {})
	w.running.Wait()
	if w.held > 0 {
		time.AfterFunc(retention, func() { w.share.Release(w.tenant, w.held) })
	}
}

// Wait waits until the writer accepts more events.
func (w *Writer) Wait(ctx context.Context) error {
	for w.Full() {
		select {
		case <-w.stored:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
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
		var err error
		if w.admit(b) {
			err = w.publish(b)
		}
		if err != nil {
			w.log.Warn("the replay stream does not store the events of a run: it cannot be resumed", "subject", w.subject, "err", err)
		}
		stored, more := w.next(b, err)
		for _, f := range stored {
			f.call()
		}
		if !more {
			return
		}
	}
}

// admit reports whether the batch is within the tenant's share of the replay stream. The start
// and the end of a run always are, so that a client learns that events are missing.
func (w *Writer) admit(b *events) bool {
	if b.first == 0 || b.state != "" {
		return true
	}
	n := int64(len(b.data))
	if w.share.Acquire(w.tenant, n) {
		w.held += n
		return true
	}
	if !w.over {
		w.over = true
		w.log.Warn("the replay stream does not store all events of a run: the tenant has exceeded its share", "subject", w.subject)
	}
	return false
}

// publish publishes a batch until JetStream acknowledges it.
func (w *Writer) publish(b *events) error {
	msg := &nats.Msg{Subject: w.subject, Data: b.data, Header: nats.Header{headerStarted: {w.started}}}
	if b.state != "" {
		msg.Header.Set(headerState, b.state)
	}
	id := w.subject + "." + strconv.FormatUint(b.first, 10)
	ctx, cancel := context.WithTimeout(w.ctx, storeTimeout)
	defer cancel()
	intervals := backoff.NewExponentialBackOff() // jittered
	intervals.InitialInterval, intervals.MaxInterval = maxStoreInterval/10, maxStoreInterval
	_, err := backoff.Retry(ctx, func() (*jetstream.PubAck, error) {
		ctx, cancel := context.WithTimeout(ctx, ackTimeout)
		defer cancel()
		ack, err := w.js.PublishMsg(ctx, msg, jetstream.WithMsgID(id), jetstream.WithRetryAttempts(0))
		if errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, jetstream.ErrNoStreamResponse) && w.noStream(ctx) {
			err = backoff.Permanent(err)
		}
		return ack, err
	}, backoff.WithBackOff(intervals), backoff.WithMaxElapsedTime(0))
	return err
}

// noStream reports whether the replay stream does not exist. A stream without a leader
// does not answer either.
func (w *Writer) noStream(ctx context.Context) bool {
	_, err := w.js.Stream(ctx, w.stream)
	return errors.Is(err, jetstream.ErrStreamNotFound)
}

// next removes a batch that was stored, or all after an error. It returns the functions
// to be called for these events, and whether another batch is due.
func (w *Writer) next(b *events, err error) (stored []flush, more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batches, w.size = w.batches[1:], w.size-len(b.data)
	if err != nil {
		w.failed, w.batches, w.size = true, nil, 0
	}
	select {
	case w.stored <- struct{}{}:
	default:
	}
	var pending []flush
	for _, f := range w.flushes {
		if len(w.batches) > 0 && f.last >= w.batches[0].first {
			pending = append(pending, f)
		} else {
			stored = append(stored, f)
		}
	}
	w.flushes = pending
	w.storing = len(pending) > 0 || len(w.batches) > 1 || len(w.batches) == 1 && len(w.batches[0].data) >= batchBytes
	return stored, w.storing
}
