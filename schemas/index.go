package schemas

// IndexStatus is the state of the shared index.
type IndexStatus struct {
	Fingerprint        string              `json:"fingerprint,omitzero" doc:"fingerprint of the documents being written"`
	Live               string              `json:"live,omitzero" doc:"fingerprint of the documents being searched; differs while a new index generation is filled"`
	Documents          map[string]int      `json:"documents,omitempty" doc:"searchable documents by kind"`
	Lag                *uint64             `json:"lag,omitzero" doc:"catalog changes not yet written"`
	Quarantined        int                 `json:"quarantined,omitzero" doc:"number of records that the index rejected (quarantine)"`
	QuarantinedRecords []QuarantinedRecord `json:"quarantined_records,omitempty" doc:"the oldest quarantined records"`
}

// QuarantinedRecord is a record that the index rejected.
type QuarantinedRecord struct {
	Key      string `json:"key" doc:"catalog key"`
	Reason   string `json:"reason"`
	Revision uint64 `json:"revision"`
	At       string `json:"at" doc:"time of the rejection, RFC 3339"`
}

// Projected reports which catalog revisions a projection has applied.
type Projected struct {
	Generation string   `json:"generation" doc:"index generation"`
	Revisions  []uint64 `json:"revisions,omitempty" doc:"applied revisions"`
	Failed     []uint64 `json:"failed,omitempty" doc:"revisions that failed and will not be applied soon"`
}

// Reindexed is the response to a reindex request.
type Reindexed struct {
	Generation string `json:"generation" doc:"index generation"`
	Records    uint64 `json:"records" doc:"number of records to write, including removals"`
}
