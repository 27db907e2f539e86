package output

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rendered writes the chunks to a Markdown writer and returns its output.
func rendered(t *testing.T, styled bool, pieces ...string) string {
	t.Helper()
	var b strings.Builder
	m := &Markdown{out: Screen(&b), render: true, styled: styled, size: terminalSize(80, 24)}
	for _, piece := range pieces {
		if err := m.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, text, want string }{
		{"a paragraph", "Some *text* with `code`\nand a [link](http://a).", "Some text with code\nand a link (http://a).\n"},
		{"a heading", "# Hosts\n\nThree.", "Hosts\n\nThree.\n"},
		{"a list", "- a\n- b\n  - c\n", "• a\n• b\n  • c\n"},
		{"an ordered list", "3. a\n4. b\n   more\n", "3. a\n4. b\n   more\n"},
		{"a loose list", "1. a\n\n   b\n2. c\n", "1. a\n   \n   b\n2. c\n"},
		{"code", "```go\na := `*b*`\n\n\tc\n```\n", "  a := `*b*`\n  \n      c\n"},
		{"a quotation", "> a\n>\n> b\n", "│ a\n│ \n│ b\n"},
		{"a table", "| site | n |\n|---|--:|\n| a | 10 |\n| 漢 | 5 |\n", "site   n\n────  ──\na     10\n漢     5\n"},
		{"escaped punctuation", `a\_b \*c\* 1 \< 2 &amp; &#35;`, "a_b *c* 1 < 2 & #\n"},
		{"HTML is text", "<b>x</b>\n\n<div>\ny\n</div>\n", "<b>x</b>\n\n  <div>\n  y\n  </div>\n"},
		{"a rule", "a\n\n---\n\nb", "a\n\n" + strings.Repeat("─", 20) + "\n\nb\n"},
		{"control characters are escaped", "a\x1b[2Jb `\u202e` [x](\x07)\n\n```\n\x1b]0;\x07\n```\n",
			"a\\u001b[2Jb \\u202e x (\\u0007)\n\n  \\u001b]0;\\u0007\n"},
		{"also by references", "&#27;[2J", "\\u001b[2J\n"},
		{"invalid UTF-8", "a\xffb", "a\uFFFDb\n"},
		{"nothing", "", ""},
		{"a table that lacks cells", "| a | b |\n|---|---|\n| x |\n", "a  b\n─  ─\nx\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(row.want, rendered(t, false, row.text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := rendered(t, false, strings.Split(row.text, "")...); !strings.Contains(row.text, "\xff") && got != row.want {
				t.Errorf("in chunks: %q, want %q", got, row.want)
			}
		})
	}
}

func TestMarkdownStyles(t *testing.T) {
	t.Parallel()
	const want = "\x1b[1;4mH\x1b[0m\n\n\x1b[1mb\x1b[0m \x1b[3mi\x1b[0m \x1b[36mc\x1b[0m\n"
	if got := rendered(t, true, "# H\n\n**b** *i* `c`\n"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestMarkdownStreams checks that a block is written when the next one begins.
func TestMarkdownStreams(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	m := &Markdown{out: &b, render: true, size: terminalSize(80, 24)}
	for _, step := range []struct{ piece, want string }{
		{"first", ""}, {" line\n", ""}, {"\n", ""}, {"second\n", "first line\n"}, {"\n```\nx\n\n", "first line\n\nsecond\n"}, {"\ny\n", "first line\n\nsecond\n"},
	} {
		if err := m.Write(step.piece); err != nil {
			t.Fatal(err)
		}
		if b.String() != step.want {
			t.Errorf("after %q: %q, want %q", step.piece, b.String(), step.want)
		}
	}
}

// FuzzMarkdown checks that no text controls the terminal.
func FuzzMarkdown(f *testing.F) {
	for _, seed := range []string{"# a\n\n* b\n", "|a|\n|-|\n|b|c|\n", "> ```\n> x",
		"\x1b[0m&#x1b;", "[a](b\u202e)", "1. a\n   - b\n\n\t\tc"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range rendered(t, false, text) {
			if r != '\n' && Escaped(string(r)) != string(r) {
				t.Fatalf("%q writes %U", text, r)
			}
		}
	})
}
