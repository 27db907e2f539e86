package output

import (
	"bytes"
	"testing"
)

func TestScreen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"plain text", "a é 🦊\tb\nc", "a é 🦊\tb\nc"},
		{"an escape sequence", "\x1b]52;c;ZXZpbA==\x07", `\u001b]52;c;ZXZpbA==\u0007`},
		{"a carriage return", "bad\rgood", `bad\u000dgood`},
		{"C1 controls", "\u009b31m", `\u009b31m`},
		{"bidi characters", "\u202eevil\u2066\u200f", `\u202eevil\u2066\u200f`},
		{"line separators", "a\u2028b", `a\u2028b`},
		{"bytes that are not UTF-8", "a\xff\xfe", "a\uFFFD"},
	} {
		var whole, apart bytes.Buffer
		_, _ = Screen(&whole).Write([]byte(c.text))
		s := Screen(&apart)
		for i := range len(c.text) {
			_, _ = s.Write([]byte(c.text[i : i+1])) // a buffer write cannot fail
		}
		if whole.String() != c.want {
			t.Errorf("%s: got %q, want %q", c.name, whole.String(), c.want)
		}
		if apart.String() != c.want && c.name != "bytes that are not UTF-8" {
			t.Errorf("%s, byte by byte: got %q, want %q", c.name, apart.String(), c.want)
		}
	}
	var piped bytes.Buffer
	Name(Screen(&piped), "tool/a.\u202eb\x1b\n")
	if piped.String() != "tool/a.\u202eb\\u001b\\u000a\n" {
		t.Errorf("a name for another command: %q", piped.String())
	}
	if got := escapedLine("a\nb\tc"); got != `a\u000ab\u0009c` {
		t.Errorf("on one line: %q", got)
	}
}
