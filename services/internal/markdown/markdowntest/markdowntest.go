// Package markdowntest renders Markdown and inspects the HTML.
package markdowntest

import (
	"bytes"
	"regexp"
	"slices"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
)

// Hostile are values with Markdown or HTML markup.
var Hostile = []string{
	"<img src=x onerror=alert(1)>", "[x](javascript:alert(1))", "![x](http://evil/)", "| a |", "*b*", "`c`",
	"x\n# heading",
	"- item", "# heading",
	"> quote", "1. item", "~~~", "---", "a\n\n<script>alert(1)</script>", "https://evil.example/", "&lt;b>", `\`, "_em_",
	"[r]: http://evil/", "\x1b[31mred",
}

var renderer = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe()))

// HTML returns GFM text as HTML, with the HTML in it.
func HTML(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	if err := renderer.Convert([]byte(text), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var tag = regexp.MustCompile(`<([a-zA-Z!][a-zA-Z0-9]*)`)

// Elements returns the names of the elements that GFM text renders as, sorted.
func Elements(t *testing.T, text string) []string {
	t.Helper()
	var names []string
	for _, match := range tag.FindAllStringSubmatch(HTML(t, text), -1) {
		names = append(names, match[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}
