package output

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// screen wraps the output of all commands. It writes control and bidi characters as
// escapes such as \u001b, so that texts of records, estates, models and servers cannot
// move the cursor, write to the clipboard or reorder the output. In JSON, such an escape
// denotes the same character. Line breaks and tabs are unchanged. It is safe for
// concurrent use.
type screen struct {
	io.Writer
	mu   sync.Mutex
	rest []byte // incomplete UTF-8 sequence at the end of the last Write
	err  error  // of the first failed write
}

// Screen returns a writer that writes to w and escapes control and bidi characters, which
// could otherwise control the terminal.
func Screen(w io.Writer) io.Writer {
	if s, ok := w.(*screen); ok {
		return s
	}
	return &screen{Writer: w}
}

// Write implements io.Writer.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := append(s.rest, p...)
	whole := len(text)
	for i := max(0, whole-utf8.UTFMax+1); i < whole; i++ {
		if utf8.RuneStart(text[i]) && !utf8.FullRune(text[i:]) {
			whole = i
			break
		}
	}
	s.rest = append([]byte(nil), text[whole:]...)
	s.write(Escaped(string(text[:whole])))
	return len(p), s.err
}

// write writes text unless an earlier write has failed.
func (s *screen) write(text string) {
	if s.err == nil {
		_, s.err = io.WriteString(s.Writer, text)
	}
}

// Err returns the error of the first failed write to a writer of Screen. The functions of this package
// without an error leave it to the end of the command.
func Err(w io.Writer) error {
	s, ok := w.(*screen)
	if !ok {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// writeUnescaped writes text that may have escape sequences of the program itself.
func writeUnescaped(w io.Writer, text string) {
	s, ok := w.(*screen)
	if !ok {
		_, _ = io.WriteString(w, text) // only tests have other writers
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(text)
}

// Escaped returns text with control characters other than line breaks and tabs, and with
// bidi characters, escaped.
func Escaped(text string) string { return escape(text, false) }

// escapedLine is Escaped for single-line text: it also escapes line breaks and tabs.
func escapedLine(text string) string { return escape(text, true) }

func escape(text string, line bool) string {
	unsafe := func(r rune) bool {
		if r == '\n' || r == '\t' {
			return line
		}
		return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
	}
	return escapeIf(text, unsafe)
}

func escapeIf(text string, unsafe func(rune) bool) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if strings.IndexFunc(text, unsafe) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unsafe(r) {
			_, _ = fmt.Fprintf(&b, `\u%04x`, r) // a builder write cannot fail
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
