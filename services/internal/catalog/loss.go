package catalog

import (
	"context"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
)

// maxLogged is the number of lost records that a log line names.
const maxLogged = 20

// Lost is a revision of a record that the log has lost, and the history has.
type Lost struct {
	Key      Key
	Revision uint64
	subject  string
	before   uint64 // the newest revision that the log has; 0: none
}

// String returns KIND/ID, or KIND/ID@ALIAS, with the tenant unless it is the global scope.
func (l Lost) String() string {
	id := l.Key.ID
	if l.Key.Alias != "" {
		id += "@" + l.Key.Alias
	}
	if l.Key.Tenant != "" {
		return fmt.Sprintf("%s/%s of tenant %s", l.Key.Kind, id, l.Key.Tenant)
	}
	return l.Key.Kind + "/" + id
}

// newestOf returns the newest revision of each record and alias of the log, or of its history, by its subject, without
// the records. The configuration has the position at which it begins.
func newestOf(ctx context.Context, js jetstream.JetStream, s jetstream.Stream,
	config jetstream.OrderedConsumerConfig) (map[string]Change, error) {
	config.FilterSubjects, config.HeadersOnly = []string{subjects + ">"}, true
	consumer, err := bucket.Ordered(ctx, js, s, config)
	if err != nil {
		return nil, err
	}
	defer bucket.Release(s, consumer)
	newest := map[string]Change{}
	err = bucket.ReceiveAll(ctx, consumer, 0, func(msg jetstream.Msg, meta *jetstream.MsgMetadata) bool {
		if key, err := parseKey(strings.TrimPrefix(msg.Subject(), subjects)); err == nil {
			newest[msg.Subject()] = Change{
				Key: key, Revision: meta.Sequence.Stream, Stored: meta.Timestamp, Removed: bucket.Removes(msg.Headers()),
				Replaces: msg.Headers().Get(headerReplaces) != "", origin: origin(msg.Headers().Get(headerOrigin)),
			}
		}
		return true
	})
	return newest, err
}
