package schemas

import "testing"

func TestRedactURLs(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, text, want string }{
		{"a password", "https://user:secret@example.com/a", "https://user:xxxxx@example.com/a"},
		{"a password with a comma", "https://user:sec,ret@example.com/a", "https://user:xxxxx@example.com/a"},
		{"a password with an @", "https://user:sec@ret@example.com/a", "https://user:xxxxx@example.com/a"},
		{"a password with an invalid escape", "https://user:sec%zzret@example.com/a", "https://user:xxxxx@example.com/a"},
		{"a password without a user", "redis://:secret@example.com", "redis://xxxxx@example.com"},
		{"a token", "nats://token@a:4222", "nats://xxxxx@a:4222"},
		{"a list", "nats://u:p@a:4222,tls://v:q@b:4222", "nats://u:xxxxx@a:4222,tls://v:xxxxx@b:4222"},
		{"a list of which one has a password", "nats://a:4222,nats://u:p@b:4222", "nats://a:4222,nats://u:xxxxx@b:4222"},
		{"a list with commas in passwords", "nats://u:p,x@a,nats://v:q,x@b", "nats://u:xxxxx@a,nats://v:xxxxx@b"},
		{"no scheme", "user:secret@a:4222", "user:xxxxx@a:4222"},
		{"no scheme after a path", "nats://a:4222/,user:secret@b", "nats://a:xxxxx@b"},
		{"a password with a slash", "nats://u:pa/ss@a:4222", "nats://u:xxxxx@a:4222"},
		{"a token with a slash", "nats://tok/en@a", "nats://xxxxx@a"},
		{"a password with a question mark", "https://u:pa?ss@a", "https://u:xxxxx@a"},
		{"a password with a hash sign", "https://u:pa#ss@a", "https://u:xxxxx@a"},
		{"a list without passwords", "nats://a:4222,nats://b:4222", "nats://a:4222,nats://b:4222"},
		{"hosts before a token", "nats://a:4222,token@b:4222", "nats://a:xxxxx@b:4222"},
		{"an @ in a path", "https://example.com/pkg@1.0", "https://example.com/pkg@1.0"},
		{"no password", "https://example.com/a,b@c:d", "https://example.com/a,b@c:d"},
		{"no host", "embedded:", "embedded:"},
		{"a file", "estate@2026.json", "estate@2026.json"},
	} {
		if got := RedactURLs(row.text); got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}
