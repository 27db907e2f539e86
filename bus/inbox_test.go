package bus_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"cairn/bus"
)

func TestInboxPrefix(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, urls, prefix, want string }{
		{"no user", "nats://127.0.0.1:4222", "", "_INBOX."},
		{"a user", "nats://edge:secret@127.0.0.1:4222", "", "_INBOX_edge."},
		{"a user of several URLs", "nats://edge:secret@a:4222,nats://other:secret@b:4222", "", "_INBOX_edge."},
		{"no scheme", "127.0.0.1:4222", "", "_INBOX."},
		{"a token is not a user", "nats://secret@127.0.0.1:4222", "", "_INBOX."},
		{"a user whose name is not a valid subject token", "nats://a.b:secret@127.0.0.1:4222", "", "_INBOX."},
		{"a custom prefix", "nats://edge:secret@127.0.0.1:4222", "_INBOX_other", "_INBOX_other."},
		{"a prefix of two tokens", "", "_INBOX.edge", "_INBOX.edge."},
		{"a subject that is not an inbox", "", "inbox", ""},
		{"a wildcard", "", "_INBOX_*", ""},
		{"a dot at the end", "", "_INBOX.", ""},
	} {
		option, err := bus.InboxPrefix(row.urls, row.prefix)
		if err != nil {
			if row.want != "" {
				t.Errorf("%s: %v", row.name, err)
			}
			continue
		}
		o := nats.GetDefaultOptions()
		if err := option(&o); err != nil {
			t.Errorf("%s: %v", row.name, err)
		}
		if got := (&nats.Conn{Opts: o}).NewInbox(); row.want == "" || !strings.HasPrefix(got, row.want) ||
			strings.Count(got, ".") != strings.Count(row.want, ".") {
			t.Errorf("%s: got %s, want %s", row.name, got, row.want)
		}
	}
}
