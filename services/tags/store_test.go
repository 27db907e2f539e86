package tags

import "testing"

func TestKeySubject(t *testing.T) {
	t.Parallel()
	for _, want := range []key{{"", "r"}, {"acme", "r"}, {"acme", "a.b *> ü"}, {"a.b", "="}} {
		if got, ok := parseKey(want.subject()); !ok || got != want {
			t.Errorf("subject of %+v: got %+v, %v", want, got, ok)
		}
	}
	for _, subject := range []string{subjects + "=flush.abc", subjects + "YQ.=", subjects + "YQ.YQ.YQ"} {
		if got, ok := parseKey(subject); ok {
			t.Errorf("%s: got the key %+v, want none", subject, got)
		}
	}
}
