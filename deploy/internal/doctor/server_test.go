package doctor

import (
	"context"
	"testing"

	"cairn/schemas"
)

func TestAuthentication(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		err  error
		want string
	}{
		{"an accepted request", nil, warned},
		{"no credential", schemas.ErrUnauthenticated.Because("no credential"), passed},
		{"no permission", schemas.ErrForbidden, passed},
		{"an unavailable server", schemas.ErrUnavailable.Because("no worker"), skipped},
		{"a timeout", context.DeadlineExceeded, skipped},
	} {
		if got := authentication(row.err); got.Result != row.want {
			t.Errorf("%s: got %+v, want %s", row.name, got, row.want)
		}
	}
}

func TestDanglingReferences(t *testing.T) {
	t.Parallel()
	h := schemas.Health{Services: []schemas.Health{{Dangling: &schemas.DanglingReferences{Count: 3}}}}
	list := health(h)
	if got := list[len(list)-1]; got.Result != warned || got.Detail != "3 link to records that do not exist" {
		t.Errorf("got %+v, want a warning about 3 references", got)
	}
}

func TestFindingsSuggestFixes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, detail, want string }{
		{"a language model", "language model unavailable", "check the URL of --model and that the model server runs"},
		{"an embedding model", "embedding model unavailable: timeout", "check the URL of --embed and that its server runs"},
		{"a loss", "bucket cairn_tags has lost messages: about 3, as of 2026-11-29T05:00:00Z",
			"check the disk of the NATS server; then cairn doctor --nats URL --accept-loss restores the records that the history has"},
		{"an unknown reason", "out of luck", "see the log of the worker"},
	} {
		if got := fixFor(row.detail); got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}
