package bus

import "strings"

// inboxPrefixes are the prefixes of the subjects on which clients receive replies: inboxes,
// with the prefix of a user or without (--nats-inbox), and the reply subjects of
// requests that were imported from another account.
var inboxPrefixes = []string{"_INBOX.", "_INBOX_", importPrefix}

// isInbox reports whether subject is an inbox, to which only a waiting client subscribes.
// The requester chooses the reply subject, but the reply is sent with the permissions of
// the responder: a reply subject such as $KV.cairn_catalog.x would make a worker overwrite a
// record for a client without that permission. So this package publishes to a subject
// that a peer has chosen only if isInbox accepts it, or if it is the event subject of a
// run of the same stream.
func isInbox(subject string) bool {
	for _, prefix := range inboxPrefixes {
		if strings.HasPrefix(subject, prefix) {
			return true
		}
	}
	return false
}
