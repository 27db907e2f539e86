package schemas

// IndexStatus is how an index is that all workers share.
type IndexStatus struct {
	Fingerprint        string              `json:"fingerprint,omitzero" doc:"of the documents that are written"`
	Live               string              `json:"live,omitzero" doc:"fingerprint of the documents that are searched; another one while a new index is filled"`
	Documents          map[string]int      `json:"documents,omitempty" doc:"documents that can be found, by kind"`
	Lag                *uint64             `json:"lag,omitzero" doc:"changes of the catalog that are still to be written"`
	Quarantined        int                 `json:"aside,omitzero" doc:"records that the index refuses"`
	QuarantinedRecords []QuarantinedRecord `json:"aside_records,omitempty" doc:"the oldest of them"`
}

// QuarantinedRecord is a record that the index refuses.
type QuarantinedRecord struct {
	Key      string `json:"key" doc:"of the catalog"`
	Reason   string `json:"reason"`
	Revision uint64 `json:"revision"`
	At       string `json:"at" doc:"when it was refused, in the words of RFC 3339"`
}

// Projected tells what has come of revisions of the catalog.
type Projected struct {
	Generation string   `json:"generation" doc:"of the index"`
	Revisions  []uint64 `json:"revisions,omitempty" doc:"those that were applied"`
	Failed     []uint64 `json:"failed,omitempty" doc:"those that were not, and will not be soon"`
}

// Reindexed answers who has a new index filled.
type Reindexed struct {
	Generation string `json:"generation" doc:"of the index"`
	Records    uint64 `json:"records" doc:"to be written, removed ones included"`
}
