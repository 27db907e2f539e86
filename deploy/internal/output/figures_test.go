package output

import (
	"strings"
	"testing"
)

func terminalSize(width, height int) func() (int, int) {
	return func() (int, int) { return width, height }
}

func TestMarkFigures(t *testing.T) {
	t.Parallel()
	bad := func(text string) Figure { return Figure{text, true} }
	good := func(text string) Figure { return Figure{Text: text} }
	for _, row := range []struct {
		name, text string
		figures    []Figure
		want       string
	}{
		{"none", "3 hosts", []Figure{good("3")}, "3 hosts"},
		{"one of two", "3 of 4711 hosts.", []Figure{good("3"), bad("4711")}, "3 of 4711 [unsupported] hosts."},
		{"the second of two equal ones", "7 and 7", []Figure{good("7"), bad("7")}, "7 and 7 [unsupported]"},
		{"not a part of a number", "17, 1.7 and 7%", []Figure{bad("7%")}, "17, 1.7 and 7% [unsupported]"},
		{"not a part of a name", "vm7 has 7", []Figure{bad("7")}, "vm7 has 7 [unsupported]"},
		{"not the number of an item", "1. a\n2. has 1 b", []Figure{bad("1")}, "1. a\n2. has 1 [unsupported] b"},
		{"not in a destination", "[x](http://a/7) 7", []Figure{bad("7")}, "[x](http://a/7) 7 [unsupported]"},
		{"emphasis", "**4,711** hosts", []Figure{bad("4,711")}, "**4,711 [unsupported]** hosts"},
		{"a cell", "| a |\n|---|\n| 5 |\n", []Figure{bad("5")}, "| a |\n|---|\n| 5 [unsupported] |\n"},
		{"code", "```\n5\n```\n", []Figure{bad("5")}, "```\n5 [unsupported]\n```\n"},
		{"one that is absent", "5", []Figure{bad("6"), bad("5")}, "5 [unsupported]"},
		{"an empty one", "5", []Figure{bad("")}, "5"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := marked(row.text, unsupportedEnds(row.text, row.figures)); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// TestMarkdownHold checks that text is written up to its first digit, and the rest with marks.
func TestMarkdownHold(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	m := NewMarkdown(&b)
	m.Hold()
	for _, step := range []struct {
		do   func() error
		want string
	}{
		{func() error { return m.Write("There are ") }, "There are "},
		{func() error { return m.Write("47") }, "There are "},
		{func() error { return m.Write("11 hosts.") }, "There are "},
		{func() error { return m.MarkFigures([]Figure{{"4711", true}}) }, "There are 4711 [unsupported] hosts."},
		{m.Close, "There are 4711 [unsupported] hosts.\n"},
		{m.Close, "There are 4711 [unsupported] hosts.\n"},
	} {
		if err := step.do(); err != nil || b.String() != step.want {
			t.Fatalf("got %q, %v; want %q", b.String(), err, step.want)
		}
	}
}

// TestMarkFiguresOnTerminal checks that the text since the last break is written again, if it
// is on the screen.
func TestMarkFiguresOnTerminal(t *testing.T) {
	t.Parallel()
	const text = "5 hosts\n\nand 6 in a line that is longer than the screen\n"
	const before = "note 5\n\n5 hosts\n\nand 6 in a line that is longer than the screen\n"
	for _, row := range []struct {
		name          string
		width, height int
		figures       []Figure
		want          string
	}{
		{"all supported", 80, 24, []Figure{{"5", false}, {"5", false}, {"6", false}}, ""},
		{"on the screen", 80, 24, []Figure{{"5", false}, {"5", false}, {"6", true}},
			"\x1b[4A\x1b[J\n5 hosts\n\nand 6 [unsupported] in a line that is longer than the screen\n"},
		{"with a wrapped line", 20, 24, []Figure{{"5", false}, {"5", true}},
			"\x1b[6A\x1b[J\n5 [unsupported] hosts\n\nand 6 in a line that is longer than the screen\n"},
		{"beyond the screen", 80, 4, []Figure{{"5", false}, {"5", true}}, ""},
		{"before the break", 80, 24, []Figure{{"5", true}}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			m := &Markdown{out: &b, render: true, size: terminalSize(row.width, row.height)}
			m.Hold()
			for _, do := range []func() error{
				func() error { return m.Write("note 5") }, m.Break, func() error { return m.Write(text) },
				func() error { return m.MarkFigures(row.figures) }, m.Close,
			} {
				if err := do(); err != nil {
					t.Fatal(err)
				}
			}
			if want := before + row.want; b.String() != want {
				t.Errorf("got %q, want %q", b.String(), want)
			}
		})
	}
}
