package bus

import "strings"

// inboxPrefixes begin the subjects on which clients receive replies: inboxes,
// with the prefix of a user or without (--nats-inbox), and the reply subjects of
// requests that were imported from another account.
var inboxPrefixes = []string{"_INBOX.", "_INBOX_", importPrefix}

// isInbox reports whether subject can only be that of a client that waits for a
// reply. A message goes wherever its requester says, with the permissions of the
// responder: a reply subject such as $KV.catalog.x would have a worker overwrite a
// record on behalf of a client that may not. So nothing in this package publishes
// to a subject that a peer has chosen unless isInbox accepts it, or it is the event
// subject of a run of the same stream.
func isInbox(subject string) bool {
	for _, prefix := range inboxPrefixes {
		if strings.HasPrefix(subject, prefix) {
			return true
		}
	}
	return false
}
