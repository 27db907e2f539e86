package markdown_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"cairn/services/internal/markdown"
)

func TestEscape(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, value, want string }{
		{"a label", "fra1", "fra1"},
		{"underscores within words", "vm_name__x", "vm_name__x"},
		{"underscores at the ends of words", "_a_", `_a\_`},
		{"an address", "10.0.0.0/8", "10.0.0.0/8"},
		{"a host name", "web-01.example.com", "web-01.example.com"},
		{"a backslash before a letter", `C:\x`, `C:\x`},
		{"a backslash before punctuation, and at the end", `\\srv\`, `\\\srv\\`},
		{"a negative number", "-5", "-5"},
		{"a number", "1.5", "1.5"},
		{"an ampersand", "R&D; x", `R&amp;D; x`},
		{"a single ampersand", "R&D", "R&D"},
		{"other scripts", "Größe_名前", `Größe\_名前`},
		{"HTML", "<img src=x onerror=alert(1)>", "&lt;img src=x onerror=alert(1)>"},
		{"a link", "[x](javascript:alert(1))", `\[x](javascript:alert(1))`},
		{"an image", "![x](http://evil/)", `!\[x](http\://evil/)`},
		{"a web address", "www.evil.example", `www\.evil.example`},
		{"a mail address", "a@b.example", `a\@b.example`},
		{"table cells", "| a |", `\| a \|`},
		{"emphasis, deletion and code", "*b* ~~c~~ `d`", "\\*b\\* \\~\\~c\\~\\~ \\`d\\`"},
		{"a line break and a heading", "a\n# b", "a # b"},
		{"a heading", "# b", `\# b`},
		{"an item", "- b", `\- b`},
		{"a numbered item", "12. b", `12\. b`},
		{"a rule", "---", `\---`},
		{"a quotation", "> b", `\> b`},
		{"an indented block", "    b", "b"},
		{"controls", "a\x1b[31m\u202eb\u2028c\x00", "a\uFFFD\\[31m\uFFFDb c\uFFFD"},
		{"bytes that are not UTF-8", "a\xff", "a\uFFFD"},
		{"no-break spaces", "1\u00a0600", "1\u00a0600"},
		{"nothing", "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := markdown.Escape(row.value); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// FuzzEscape renders arbitrary values in the positions of an answer: at the beginning of
// a list item, within a sentence, and in a table cell.
func FuzzEscape(f *testing.F) {
	for _, seed := range []string{
		"vm_name", `\`, `\\|`, "a_-b", "&lt;", "&#60;b>", "`` `", "1) x", "+", "===", ":--", "-\t-", "_*_", "ftp://x.y",
		"wWw.a.bc", "a.b-c@d.ef",
		"[a]: b", "<!--", "\\*", "~x~", "![x](http://evil/)", "mailto:a@b.cd", "[ ] x", "a  b", "\"'()", `a\\_`, "www.",
		"x@y.zz_", "\x00", "]",
		"http:", "é_é",
	} {
		f.Add(seed)
	}
	gfm := goldmark.New(goldmark.WithExtensions(extension.GFM))
	f.Fuzz(func(t *testing.T, value string) {
		escaped, line := markdown.Escape(value), markdown.Line(value)
		if got := markdown.Plain(escaped); got != line {
			t.Errorf("Plain(%q) is %q, want %q", escaped, got, line)
		}
		shown := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(line)
		for _, around := range []struct{ before, after, htmlBefore, htmlAfter string }{
			{"x:\n- ", ": 1", "<p>x:</p>\n<ul>\n<li>", ": 1</li>\n</ul>\n"},
			{"1 x with y ", ", 2", "<p>1 x with y ", ", 2</p>\n"},
			{"", " has 2", "<p>", " has 2</p>\n"},
			{"**x ", " y**", "<p><strong>x ", " y</strong></p>\n"},
			{"| h |\n|---|\n| x ", " |", "<table>\n<thead>\n<tr>\n<th>h</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>x ",
				"</td>\n</tr>\n</tbody>\n</table>\n"},
		} {
			var html bytes.Buffer
			if err := gfm.Convert([]byte(around.before+escaped+around.after), &html); err != nil {
				t.Fatal(err)
			}
			if got, want := spaces(html.String()), spaces(around.htmlBefore+shown+around.htmlAfter); got != want {
				t.Errorf("%q in %q renders as\n%s\nwant\n%s", value, around.before+escaped+around.after, got, want)
			}
		}
	})
}

// spaces drops spaces, which renderers trim.
func spaces(html string) string { return strings.ReplaceAll(html, " ", "") }
