package edge

import (
	"slices"
	"sync/atomic"

	"cairn/bus/telemetry"
	"cairn/schemas"
)

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
