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
	bytes bool

	mu     sync.Mutex
	bar    *progressbar.ProgressBar // nil: not shown
	done   int64
	total  int64
	closed bool
}

// NewProgress returns the progress of n steps; a negative n is unknown. The caller closes it.
func NewProgress(errOut io.Writer, what string, n int) *Progress {
	return (&Progress{total: int64(n)}).start(errOut, what)
}

// NewByteProgress returns the progress of n bytes. The caller closes it.
func NewByteProgress(errOut io.Writer, what string, n int64) *Progress {
	return (&Progress{total: n, bytes: true}).start(errOut, what)
}

func (p *Progress) start(errOut io.Writer, what string) *Progress {
	if IsTerminal(errOut) {
		p.timer = time.AfterFunc(progressDelay, func() { p.show(unescaped(errOut), what) })
	}
	return p
}

func (p *Progress) show(out io.Writer, what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	options := []progressbar.Option{
		progressbar.OptionSetWriter(out),
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetElapsedTime(true),
		progressbar.OptionThrottle(100 * time.Millisecond),
		progressbar.OptionClearOnFinish(),
	}
	if p.total >= 0 || p.done > 0 {
		options = append(options, progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true))
		if p.bytes {
			options = append(options, progressbar.OptionShowBytes(true))
		} else {
			options = append(options, progressbar.OptionShowIts())
		}
	}
	p.bar = progressbar.NewOptions64(p.total, options...)
	_ = p.bar.Set64(p.done) // a failed write to stderr cannot be reported
}

// Add adds n steps.
func (p *Progress) Add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += int64(n)
	p.draw()
}

// Reach sets the number of steps that are done, and of all. A negative one is unknown.
func (p *Progress) Reach(done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = int64(done)
	if p.bar != nil && int64(total) != p.total {
		p.bar.ChangeMax(total)
	}
	p.total = int64(total)
	p.draw()
}

func (p *Progress) draw() {
	if p.bar != nil {
		_ = p.bar.Set64(p.done) // a failed write to stderr cannot be reported
	}
}

// Read wraps a file whose bytes are the steps. Reading after Seek begins again.
func (p *Progress) Read(file io.ReadSeeker) io.ReadSeeker { return &progressReader{file, p} }

type progressReader struct {
	io.ReadSeeker
	progress *Progress
}

// Read implements io.Reader.
func (r *progressReader) Read(b []byte) (int, error) {
	n, err := r.ReadSeeker.Read(b)
	r.progress.Add(n)
	return n, err
}

// Seek implements io.Seeker.
func (r *progressReader) Seek(offset int64, whence int) (int64, error) {
	at, err := r.ReadSeeker.Seek(offset, whence)
	r.progress.mu.Lock()
	defer r.progress.mu.Unlock()
	r.progress.done = at
	r.progress.draw()
	return at, err
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
