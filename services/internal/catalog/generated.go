package catalog

import (
	"encoding/json"

	"github.com/nats-io/nats.go"
)

// headerGenerated is the header of a record with its generated example queries, a JSON
// array of strings. They are stored next to the record, which remains as it was registered.
const headerGenerated = "Cairn-Generated"

// Subjects returns the subject filter of the records of a kind, for consumers of [Stream].
func Subjects(kind string) string { return subjects + kind + ".>" }

// generated returns the example queries in the header of a record.
func generated(header nats.Header) (queries []string) {
	if list := header.Get(headerGenerated); list != "" {
		_ = json.Unmarshal([]byte(list), &queries) // written by AddGenerated only
	}
	return queries
}
