package output

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		total int
		do    func(*Progress)
		want  string
	}{
		{"steps", 8, func(p *Progress) { p.Add(2) }, "work: 5 s, 2 of 8\n"},
		{"a total that is known later", -1, func(p *Progress) { p.Reach(1, 4) }, "work: 5 s, 1 of 4\n"},
		{"an unknown total", -1, func(p *Progress) { p.Add(3) }, "work: 5 s, 3\n"},
		{"no steps", -1, func(*Progress) {}, "work: 5 s\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var out strings.Builder
				p := NewProgress(&out, "work", row.total)
				p.start(&out, "work")
				row.do(p)
				time.Sleep(progressInterval + time.Second)
				p.Close()
				if out.String() != row.want {
					t.Errorf("got %q, want %q", out.String(), row.want)
				}
			})
		})
	}
}
