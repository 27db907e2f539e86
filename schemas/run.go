package schemas

// RunKey identifies a run that is in progress or ended recently.
type RunKey struct {
	Run string `json:"run" doc:"value of the response header Cairn-Run"`
}

// States of a run.
const (
	RunRunning  = "running" // or its worker was lost
	RunDone     = "done"
	RunFailed   = "failed"
	RunCanceled = "canceled"
)

// RunQuery requests a page of the runs whose events are stored, the latest first.
type RunQuery struct {
	State  string `json:"state,omitzero" doc:"only runs in this state: running, done, failed or canceled"`
	Limit  *int   `json:"limit,omitzero" doc:"page length, 1 to 1000; 100 by default"`
	Cursor string `json:"cursor,omitzero" doc:"next_cursor of the previous page"`
}

// RunList is a page of runs.
type RunList struct {
	Runs       []RunSummary `json:"runs" doc:"the latest first"`
	NextCursor *string      `json:"next_cursor" doc:"null on the last page"`
}

// RunSummary is a run in a list.
type RunSummary struct {
	Run       string `json:"run" doc:"value of the response header Cairn-Run"`
	State     string `json:"state" doc:"running, done, failed or canceled; a run whose worker was lost is running until a client resumes it"`
	StartedAt string `json:"started_at" doc:"RFC 3339"`
	UpdatedAt string `json:"updated_at" doc:"time at which its last events were stored, RFC 3339"`
}
