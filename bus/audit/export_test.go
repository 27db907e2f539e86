package audit

import (
	"time"

	"cairn/bus/admission"
)

// WithReadTime returns a log whose pages end after the time.
func (l *Log) WithReadTime(d time.Duration) *Log {
	limited := *l
	limited.readTime = d
	return &limited
}

// Pages returns the pool of the pages that are read.
func (l *Log) Pages() *admission.Pool { return l.pages }
