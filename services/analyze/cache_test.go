package analyze

import (
	"fmt"
	"strings"
	"testing"
)

func TestCache(t *testing.T) {
	t.Parallel()
	text := func(n int) []byte { return fmt.Appendf(nil, `{"a":[%d%s]}`, n, strings.Repeat(" ", 10_000)) }
	c := newCache(8 << 20)
	first, err := c.open(text(1))
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := c.open(text(1)); again != first {
		t.Error("the same text was parsed again")
	}
	if other, _ := c.open(text(2)); other == first {
		t.Error("another text got the same estate")
	}
	for n := range 1000 {
		if _, err := c.open(text(10 + n)); err != nil {
			t.Fatal(err)
		}
	}
	if c.size > c.most || c.used.Len() != len(c.byHash) {
		t.Errorf("holds %d of %d bytes, %d in order and %d by hash", c.size, c.most, c.used.Len(), len(c.byHash))
	}
	if again, _ := c.open(text(1)); again == first {
		t.Error("the least used was kept")
	}
	if _, err := c.open([]byte("{")); err == nil {
		t.Error("no error for what is no JSON")
	}
}
