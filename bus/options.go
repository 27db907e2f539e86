package bus

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// syncQueue is the buffer of a synchronous subscription, in messages: the largest reply to a batch
// request to JetStream, and its end. The default takes half a megabyte of each.
const syncQueue = 1024 + 1

func options(name string) []nats.Option {
	return []nats.Option{
		nats.Name(name),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 250*time.Millisecond),
		nats.RetryOnFailedConnect(true),
		nats.IgnoreAuthErrorAbort(), // retry while a password is being changed
		nats.ReconnectBufSize(-1),   // fail immediately instead of buffering
		nats.SyncQueueLen(syncQueue),
		nats.PingInterval(10 * time.Second), // a shorter one would disconnect while a pong waits behind many events
		nats.ErrorHandler(func(_ *nats.Conn, s *nats.Subscription, err error) { // outside of any call
			subject := ""
			if s != nil {
				subject = s.Subject
			}
			slog.Warn("nats", "connection", name, "subject", subject, "err", err)
		}),
	}
}

// Credentials are the files that authenticate a client to a NATS server and the server to the
// client; empty fields are not used. Files are read on each connect, so they can be replaced.
type Credentials struct {
	Creds string // user JWT and seed
	NKey  string // seed of the user's NKey
	CA    string // CA certificates, besides those of the system
	Cert  string // client certificate
	Key   string // its private key
}

// Options returns the connection options for the credentials.
func (c Credentials) Options() []nats.Option {
	var list []nats.Option
	if c.Creds != "" {
		list = append(list, nats.UserCredentials(c.Creds))
	}
	if c.NKey != "" {
		option, err := nats.NkeyOptionFromSeed(c.NKey)
		if err != nil { // reported when the connection is opened, as errors of the other options
			option = func(*nats.Options) error { return err }
		}
		list = append(list, option)
	}
	if c.CA != "" {
		list = append(list, nats.RootCAs(c.CA))
	}
	if c.Cert != "" {
		list = append(list, nats.ClientCert(c.Cert, c.Key))
	}
	return list
}

var (
	inboxPattern = regexp.MustCompile(`^_INBOX([_.][A-Za-z0-9_-]+)*$`)
	userPattern  = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
)

// InboxPrefix returns the option for the prefix of a connection's inboxes, with which a server can
// permit each user to receive its own replies only. The default is _INBOX_ and the user in the first
// of urls, which works with deploy/kubernetes/nats/nats.conf and on a server without permissions;
// without a user it is _INBOX, as in other clients.
func InboxPrefix(urls, prefix string) (nats.Option, error) {
	if prefix == "" {
		prefix = nats.InboxPrefix[:len(nats.InboxPrefix)-1]
		first, _, _ := strings.Cut(urls, ",")
		if u, err := url.Parse(strings.TrimSpace(first)); err == nil && userPattern.MatchString(userOf(u)) {
			prefix += "_" + userOf(u)
		}
	}
	if !inboxPattern.MatchString(prefix) {
		return nil, errors.New("expected _INBOX, or _INBOX_NAME of letters, digits, hyphens and underscores, since workers reply to inboxes only")
	}
	return nats.CustomInboxPrefix(prefix), nil
}

var schemes = []string{"nats", "tls", "ws", "wss"}

// checkURLs validates a list of server URLs. The error does not contain a URL that cannot
// be parsed: it may include a password.
func checkURLs(list string) error {
	for i, address := range strings.Split(list, ",") {
		address = strings.TrimSpace(address)
		if !strings.Contains(address, "://") {
			address = "nats://" + address
		}
		u, err := url.Parse(address)
		if err != nil || u.Host == "" {
			return fmt.Errorf("NATS URL %d: expected nats://host:4222, with user:password@ before the host if the server requires it", i+1)
		}
		if !slices.Contains(schemes, u.Scheme) {
			return fmt.Errorf("NATS URL %s: expected one of the schemes %s", u.Redacted(), strings.Join(schemes, ", "))
		}
		if port, err := strconv.Atoi(u.Port()); u.Port() != "" && (err != nil || port < 1 || port > 65535) {
			return fmt.Errorf("NATS URL %s: expected a port from 1 to 65535", u.Redacted())
		}
	}
	return nil
}
