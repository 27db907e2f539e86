package catalog

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
)

// headerGenerated is the header of a record with its generated example queries, a JSON
// array of strings. They are stored next to the record, which remains as it was registered.
const headerGenerated = "Cairn-Generated"

// Subjects returns the subject filter of the records of a kind, for consumers of [Stream].
func Subjects(kind string) string { return subjects + kind + ".>" }

// AddGenerated stores the example queries next to the record of the change, as a revision
// with the same record. It reports whether the revision of the change was the newest one;
// otherwise it writes nothing. The next registration of the record removes the queries.
func (c *Catalog) AddGenerated(ctx context.Context, of Change, queries []string) (bool, error) {
	encoded, err := of.Key.encode()
	if err != nil {
		return false, err
	}
	list, err := json.Marshal(queries)
	if err != nil {
		return false, wrap(err, "encode the generated queries of", encoded)
	}
	msg := nats.NewMsg(subjects + encoded)
	msg.Data = of.Record
	msg.Header.Set(headerReplaces, "1")
	msg.Header.Set(headerGenerated, string(list))
	msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(of.Revision, 10))
	_, err = bucket.Publish(ctx, c.js, msg)
	if bucket.Outdated(err) {
		return false, nil
	}
	return err == nil, wrap(err, "store the generated queries of", encoded)
}

// generated returns the example queries in the header of a record.
func generated(header nats.Header) (queries []string) {
	if list := header.Get(headerGenerated); list != "" {
		_ = json.Unmarshal([]byte(list), &queries) // written by AddGenerated only
	}
	return queries
}
