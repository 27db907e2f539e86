package output

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// progressInterval is the interval of the lines about work in progress.
const progressInterval = 5 * time.Second

// Progress prints a line about work in progress every 5 s, if the output is a terminal. It may be
// used concurrently.
type Progress struct {
	done, total atomic.Int64
	stop        context.CancelFunc
	printing    sync.WaitGroup
}

// NewProgress returns the progress of n steps; a negative n is unknown. The caller closes it.
func NewProgress(errOut io.Writer, label string, n int) *Progress {
	p := &Progress{stop: func() {}}
	p.total.Store(int64(n))
	if IsTerminal(errOut) {
		p.start(errOut, label)
	}
	return p
}

func (p *Progress) start(out io.Writer, label string) {
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	p.printing.Go(func() { p.print(ctx, out, label) })
}

func (p *Progress) print(ctx context.Context, out io.Writer, label string) {
	began, tick := time.Now(), time.NewTicker(progressInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			Dimmed(out, p.line(label, time.Since(began)))
		}
	}
}

// line describes the progress after a time.
func (p *Progress) line(label string, elapsed time.Duration) string {
	line := fmt.Sprintf("%s: %.0f s", label, elapsed.Seconds())
	switch done, total := p.done.Load(), p.total.Load(); {
	case total >= 0:
		line += fmt.Sprintf(", %d of %d", done, total)
	case done > 0:
		line += fmt.Sprintf(", %d", done)
	}
	return line
}

// Add adds n steps.
func (p *Progress) Add(n int) { p.done.Add(int64(n)) }

// Reach sets the number of steps that are done, and of all. A negative total is unknown.
func (p *Progress) Reach(done, total int) {
	p.done.Store(int64(done))
	p.total.Store(int64(total))
}

// Close ends the lines. It may be called more than once.
func (p *Progress) Close() {
	p.stop()
	p.printing.Wait()
}
