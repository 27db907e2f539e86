package embed_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// logged collects the log of all tests.
var logged lines

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil)))
	goleak.VerifyTestMain(m)
}

type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

// with returns the lines that contain s.
func (l *lines) with(s string) (matches []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.all.String()) {
		if strings.Contains(line, s) {
			matches = append(matches, line)
		}
	}
	return matches
}
