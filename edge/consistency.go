package edge

import (
	"errors"
	"slices"
	"sync/atomic"

	"cairn/bus"
	"cairn/bus/telemetry"
	"cairn/schemas"
)

// consistent returns the action with read-your-writes: replies include every write that was
// acknowledged through this edge, and the minimum revision of the request.
func consistent(a action) action {
	a.Consistent = true
	answer := a.answer
	a.answer = func(x *exchange) error {
		if err := readMinRevision(x); err != nil {
			return err
		}
		return readYourWrites(x, func() error { return answer(x) })
	}
	return a
}

// readMinRevision reads the consistency token required by the request, if any.
func readMinRevision(x *exchange) error {
	given := x.r.Header[bus.HeaderMinRevision]
	if len(given) == 0 {
		return nil
	}
	t, err := schemas.ParseConsistencyToken(given[0])
	if err == nil && len(given) > 1 {
		err = errors.New("expected one consistency token, got several")
	}
	if err != nil {
		return x.spec.Invalid.With(schemas.FieldError{Field: bus.HeaderMinRevision, Message: err.Error()})
	}
	x.minRevision = &t
	return nil
}

// readYourWrites calls read with a context in which the requests to workers carry the edge's
// watermark and the minimum revision of the client's request.
func readYourWrites(x *exchange, read func() error) error {
	var tokens []schemas.ConsistencyToken
	last := x.edge.watermark.token.Load()
	for _, t := range []*schemas.ConsistencyToken{x.minRevision, last} {
		if t != nil {
			tokens = append(tokens, *t)
		}
	}
	if len(tokens) > 0 {
		x.ctx = bus.WithTokens(x.ctx, tokens...)
	}
	err := read()
	// not a client error
	if last != nil && (x.minRevision == nil || last.Revision > x.minRevision.Revision) && beyondLog(err) {
		x.edge.watermark.token.CompareAndSwap(last, nil)
		return schemas.ErrUnavailable.Because("the catalog is at an earlier revision than before")
	}
	return err
}

// beyondLog reports whether err rejects the Cairn-Min-Revision of a request.
func beyondLog(err error) bool {
	var e *schemas.Error
	return errors.As(err, &e) && slices.ContainsFunc(e.Fields, func(f schemas.FieldError) bool {
		return f.Field == bus.HeaderMinRevision
	})
}

// watermark is the highest revision in the replies that this edge has received, as a
// consistency token. Later reads through the edge include it (read-your-writes).
type watermark struct {
	token atomic.Pointer[schemas.ConsistencyToken] // nil: none
}

// advance sets the watermark to t, unless t is zero or lower. A token of another catalog always
// replaces it.
func (w *watermark) advance(t schemas.ConsistencyToken) {
	for t.Revision > 0 {
		last := w.token.Load()
		if last != nil && last.Catalog == t.Catalog && t.Revision <= last.Revision {
			return
		}
		if w.token.CompareAndSwap(last, &t) {
			telemetry.CatalogRevision.WithLabelValues("edge").Set(float64(t.Revision))
			return
		}
	}
}

// reset removes the token of another catalog that a worker has ignored, if it is among them.
func (w *watermark) reset(ignored []schemas.ConsistencyToken) {
	if last := w.token.Load(); last != nil && slices.Contains(ignored, *last) {
		w.token.CompareAndSwap(last, nil)
	}
}
