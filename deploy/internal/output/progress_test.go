package output

import (
	"io"
	"strings"
	"testing"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		progress *Progress
		do       func(*Progress)
		want     []string
	}{
		{"steps", &Progress{total: 8, done: 4}, func(p *Progress) { p.Add(2) }, []string{"work", "50%", "(4/8"}},
		{"a total that is known later", &Progress{total: -1}, func(p *Progress) { p.Reach(1, 4) }, []string{"25%"}},
		{"an unknown total", &Progress{total: -1, done: 3}, func(*Progress) {}, []string{"(3/-"}},
		{"a file", &Progress{total: 4, bytes: true}, func(p *Progress) { _, _ = io.ReadAll(p.Read(strings.NewReader("abcd"))) },
			[]string{"0/ 4 B"}},
		{"a file that is read again", &Progress{total: 4, bytes: true}, func(p *Progress) {
			file := p.Read(strings.NewReader("abcd"))
			_, _ = io.ReadAll(file) // a string reader has no errors
			_, _ = file.Seek(0, io.SeekStart)
			if p.done != 0 {
				t.Errorf("%d bytes after Seek", p.done)
			}
		}, []string{"work"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			row.progress.show(&out, "work")
			row.do(row.progress)
			for _, want := range row.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("got %q, want %q", out.String(), want)
				}
			}
			row.progress.Close()
			row.progress.Close()
		})
	}
}

func TestProgressIsQuietWithoutTerminal(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	p := NewProgress(&out, "work", 1)
	if p.timer != nil {
		t.Error("a progress without a terminal has a timer")
	}
	p.Add(1)
	p.Close()
	if out.String() != "" {
		t.Errorf("got %q, want nothing", out.String())
	}
}
