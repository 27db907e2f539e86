package test

import (
	"path/filepath"
	"testing"

	"cairn/test/cairntest"
)

// later are source changes that add unknown headers, fields and events to messages
// and stored data, as a newer version may.
var later = []struct{ file, before, after string }{
	{"bus/header.go", "\tmsg.Data = body\n", "\tmsg.Data = body\n\tmsg.Header.Set(\"Cairn-Later\", \"1\")\n"},
	{"bus/responder.go", "\tbody, err := encode(res)\n",
		"\tbody, err := encode(res)\n\tif len(body) > 2 && body[0] == '{' {\n\t\tbody = append([]byte(`{\"later\":[1],`), body[1:]...)\n\t}\n"},
	{"bus/responder.go", "\theader := nats.Header{}\n", "\theader := nats.Header{\"Cairn-Later\": {\"1\"}}\n"},
	{"bus/topic.go", "\tbody, err := json.Marshal(v)\n",
		"\tbody, err := json.Marshal(v)\n\tif len(body) > 2 && body[0] == '{' {\n\t\tbody = append([]byte(`{\"later\":[1],`), body[1:]...)\n\t}\n"},
	{"services/analyze/analyze.go", "\te, done, err := a.estates.open(ctx, text, reserved(ctx))\n",
		"\tif err := r.Sender.Send(\"later\", map[string]int{\"later\": 1}); err != nil {\n\t\treturn err\n\t}\n\te, done, err := a.estates.open(ctx, text, reserved(ctx))\n"},
	{"services/analyze/loop.go", "schemas.EventTextDelta, schemas.TextDelta{Text: text})",
		"schemas.EventTextDelta, map[string]any{\"text\": text, \"later\": 1})"},
	{"services/tags/entry.go", "`{\"request_id\":`", "`{\"later\":[1],\"request_id\":`"},
	{"services/internal/catalog/catalog.go", "\tmsg.Data = record\n",
		"\tmsg.Data = append([]byte(`{\"later\":[1],`), record[1:]...)\n"},
}

// buildLater builds the program with these changes.
func buildLater(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("..")
	must(t, err)
	var changes []cairntest.Change
	for _, l := range later {
		changes = append(changes, cairntest.Change{File: filepath.Join(root, l.file), Before: l.before, After: l.after})
	}
	program := filepath.Join(t.TempDir(), "cairn")
	must(t, cairntest.BuildChanged(program, changes))
	return program
}
