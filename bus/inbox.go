package bus

import (
	"errors"
	"net/url"
	"regexp"
	"strings"

	"github.com/nats-io/nats.go"
)

var (
	inboxPattern = regexp.MustCompile(`^_INBOX([_.][A-Za-z0-9_-]+)*$`)
	userPattern  = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
)

// InboxPrefix returns the option for the prefix of a connection's inboxes, with which
// a server can permit each user to receive its own replies only. The default is
// _INBOX_ and the user in the first of urls, which works with
// deploy/kubernetes/nats/nats.conf and on a server without permissions; without a user
// it is _INBOX, as in other clients.
func InboxPrefix(urls, prefix string) (Option, error) {
	if prefix == "" {
		prefix = nats.InboxPrefix[:len(nats.InboxPrefix)-1]
		first, _, _ := strings.Cut(urls, ",")
		if u, err := url.Parse(strings.TrimSpace(first)); err == nil && u.User != nil {
			// A user name without a password is a token, which is secret.
			if _, named := u.User.Password(); named && userPattern.MatchString(u.User.Username()) {
				prefix += "_" + u.User.Username()
			}
		}
	}
	if !inboxPattern.MatchString(prefix) {
		return nil, errors.New("expected _INBOX, or _INBOX_NAME of letters, digits, hyphens and underscores, since workers reply to inboxes only")
	}
	return nats.CustomInboxPrefix(prefix), nil
}
