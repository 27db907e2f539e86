package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
)

const (
	mediaLines = "application/x-ndjson"
	// Limits of one bulk request: its number of records, and its size in bytes unless one record is larger.
	maxBulkRecords = 1000
	maxBulkBytes   = 4 << 20
	// bulkTimeout bounds one bulk request: an edge may retry each part of it for a minute.
	bulkTimeout = 10 * time.Minute
)

// bulk is a PutAll in progress.
type bulk struct {
	c        *Client
	path     string
	lines    [][]byte
	done     func(int, schemas.RecordResult)
	delays   *backoff.ExponentialBackOff
	deadline time.Time // of the retries
}

// succeeded restarts the delays and the deadline of retries.
func (b *bulk) succeeded() {
	b.delays = newDelays()
	b.deadline = time.Now().Add(b.c.retryTimeout)
}

// size returns the number of the records that one request can hold, at least one.
func (b *bulk) size(pending []int) int {
	total := 0
	for n, i := range pending {
		if total += len(b.lines[i]) + 1; n > 0 && (total > maxBulkBytes || n == maxBulkRecords) {
			return n
		}
	}
	return len(pending)
}

// send sends one request. It returns the records without a final result, whether they may be
// retried, and why.
func (b *bulk) send(ctx context.Context, batch []int) (left []int, retry bool, err error) {
	var body []byte
	for _, i := range batch {
		body = append(append(body, b.lines[i]...), '\n')
	}
	ctx, cancel := context.WithTimeout(ctx, bulkTimeout)
	defer cancel()
	r := request{method: http.MethodPost, path: b.path, body: body, idempotent: true, stream: true,
		header: http.Header{"Content-Type": {mediaLines}}}
	res, err := b.c.attempt(ctx, r)
	if err != nil {
		return batch, b.c.retryable(r, err), err
	}
	defer func() { _ = res.Body.Close() }()
	results, err := readResults(res.Body, len(batch))
	if err != nil {
		err = b.c.transportError(err)
	}
	if n := len(results); n < len(batch) && n > 0 && results[n-1].Kind == "" && results[n-1].Error != nil {
		results, err = results[:n-1], results[n-1].Error // of the whole bulk
	}
	for n, result := range results {
		if result.Error != nil && b.c.retryable(r, result.Error) {
			left, err = append(left, batch[n]), result.Error
			continue
		}
		b.c.storeToken(result.Revision)
		b.succeeded()
		b.done(batch[n], result)
	}
	return append(left, batch[len(results):]...), b.c.retryable(r, err), err
}

// readResults reads n results. It returns those before an error.
func readResults(body io.Reader, n int) (results []schemas.RecordResult, err error) {
	d := jsontext.NewDecoder(io.LimitReader(body, maxResponse))
	for range n {
		var r schemas.RecordResult
		err := json.UnmarshalDecode(d, &r)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return results, err
		}
		results = append(results, r)
	}
	return results, nil
}

// fail reports an error of Cairn as the result of each record. It returns any other error.
func (b *bulk) fail(ctx context.Context, pending []int, err error) error {
	var failure *schemas.Error
	if ctx.Err() != nil || !errors.As(err, &failure) {
		return errors.Join(ctx.Err(), err)
	}
	for _, i := range pending {
		b.done(i, schemas.RecordResult{Error: failure})
	}
	return nil
}
