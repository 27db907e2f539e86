package resolve

import "testing"

func TestLooksLikeID(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"storage.volume_capacity": true, "a.b.c": true, "größe.maß": true,
		"storage": false, "which volumes are full?": false, "e.g. full volumes": false,
		"full.": false, ".full": false, "a..b": false, "": false,
	} {
		if got := looksLikeID(text); got != want {
			t.Errorf("%q: %v; want %v", text, got, want)
		}
	}
}
