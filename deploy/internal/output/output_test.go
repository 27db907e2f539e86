package output

import "testing"

func TestRedactedURL(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, raw, want string }{
		{"a password", "https://user:secret@example.com/a", "https://user:xxxxx@example.com/a"},
		{"a password with a comma", "https://user:sec,ret@example.com/a", "https://user:xxxxx@example.com/a"},
		{"no password", "https://example.com/a,b", "https://example.com/a,b"},
		{"a file", "estate.json", "estate.json"},
	} {
		if got := RedactedURL(row.raw); got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}
