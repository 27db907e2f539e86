package output

import (
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progressDelay is the time after which work in progress is shown.
const progressDelay = time.Second

// Progress shows the progress of work that takes longer than a second, with its rate and
// the remaining time, if the output is a terminal. It may be used concurrently.
type Progress struct {
	timer *time.Timer

	mu     sync.Mutex
	bar    *progressbar.ProgressBar // nil: not shown
	done   int
	closed bool
}

// NewProgress returns the progress of n steps; a negative n is unknown. The caller closes it.
func NewProgress(errOut io.Writer, what string, n int) *Progress {
	p := &Progress{}
	if IsTerminal(errOut) {
		p.timer = time.AfterFunc(progressDelay, func() { p.show(errOut, what, n) })
	}
	return p
}

func (p *Progress) show(errOut io.Writer, what string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	options := []progressbar.Option{
		progressbar.OptionSetWriter(unescaped(errOut)),
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetElapsedTime(true),
		progressbar.OptionThrottle(100 * time.Millisecond),
		progressbar.OptionClearOnFinish(),
	}
	if n >= 0 || p.done > 0 {
		options = append(options, progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetPredictTime(true))
	}
	p.bar = progressbar.NewOptions(n, options...)
	_ = p.bar.Add(p.done) // a failed write to stderr cannot be reported
}

// Add adds n steps.
func (p *Progress) Add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	if p.bar != nil {
		_ = p.bar.Add(n) // a failed write to stderr cannot be reported
	}
}

// Close removes the progress from the terminal. It may be called more than once.
func (p *Progress) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
	if p.bar != nil {
		_ = p.bar.Finish() // a failed write to stderr cannot be reported
		p.bar = nil
	}
}
