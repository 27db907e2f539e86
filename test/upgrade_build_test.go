package test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/test/cairntest"
)

// later are source changes that add unknown headers, fields and events to messages
// and stored data, as a newer version may.
var later = []struct{ file, is, replacement string }{
	{"bus/header.go", "\tmsg.Data = body\n", "\tmsg.Data = body\n\tmsg.Header.Set(\"Cairn-Later\", \"1\")\n"},
	{"bus/responder.go", "\tbody, err := encode(res)\n",
		"\tbody, err := encode(res)\n\tif len(body) > 2 && body[0] == '{' {\n\t\tbody = append([]byte(`{\"later\":[1],`), body[1:]...)\n\t}\n"},
	{"bus/responder.go", "\theader := nats.Header{}\n", "\theader := nats.Header{\"Cairn-Later\": {\"1\"}}\n"},
	{"bus/topic.go", "\tbody, err := json.Marshal(v)\n",
		"\tbody, err := json.Marshal(v)\n\tif len(body) > 2 && body[0] == '{' {\n\t\tbody = append([]byte(`{\"later\":[1],`), body[1:]...)\n\t}\n"},
	{"services/analyze/analyze.go", "\te, done, err := a.estates.open(ctx, text, reserved(ctx))\n",
		"\tif err := to.Send(\"later\", map[string]int{\"later\": 1}); err != nil {\n\t\treturn err\n\t}\n\te, done, err := a.estates.open(ctx, text, reserved(ctx))\n"},
	{"services/analyze/loop.go", "schemas.EventTextDelta, schemas.TextDelta{Text: text})",
		"schemas.EventTextDelta, map[string]any{\"text\": text, \"later\": 1})"},
	{"services/tags/entry.go", "`{\"request_id\":`", "`{\"later\":[1],\"request_id\":`"},
	{"services/internal/catalog/catalog.go", "\trevision, err := c.commits.put(",
		"\tmsg.Data = append([]byte(`{\"later\":[1],`), record[1:]...)\n\trevision, err := c.commits.put("},
}

// buildLater builds the program with these changes.
func buildLater(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for i, l := range later {
		path := filepath.Join(root, filepath.FromSlash(l.file))
		from := path
		if before := overlay.Replace[path]; before != "" {
			from = before
		}
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(text), l.is) != 1 {
			t.Fatalf("%s does not contain %q exactly once; update the replacement", l.file, l.is)
		}
		to := filepath.Join(dir, fmt.Sprint(i)+".go")
		if err := os.WriteFile(to, []byte(strings.Replace(string(text), l.is, l.replacement, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[path] = to
	}
	text, err := json.Marshal(overlay)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "overlay.json"), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "cairn")
	if err := cairntest.BuildTo(program, "-overlay", filepath.Join(dir, "overlay.json")); err != nil {
		t.Fatal(err)
	}
	return program
}
