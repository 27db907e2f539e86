package doctor

import "testing"

func TestFixes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, detail, want string }{
		{"a language model", "language model unavailable", "check the URL of --model and that the model server runs"},
		{"an embedding model", "embedding model unavailable: timeout", "check the URL of --embed and that its server runs"},
		{"an unknown reason", "out of luck", "see the log of the worker"},
	} {
		if got := fixFor(row.detail); got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}
