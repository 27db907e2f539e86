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

// RunQuery requests a page of the runs in progress and of those that have ended, the latest first.
type RunQuery struct {
	State  string `json:"state,omitzero" doc:"only runs in this state: running, done, failed or canceled"`
	User   string `json:"user,omitzero" doc:"only ended runs of the credential with this id"`
	Model  string `json:"model,omitzero" doc:"only ended runs with this model"`
	Since  string `json:"since,omitzero" doc:"only runs that started at this time or later, RFC 3339"`
	Limit  *int   `json:"limit,omitzero" doc:"page length, 1 to 1000; 100 by default"`
	Cursor string `json:"cursor,omitzero" doc:"next_cursor of the previous page"`
}

// RunList is a page of runs.
type RunList struct {
	Runs       []RunSummary `json:"runs" doc:"the latest first"`
	NextCursor *string      `json:"next_cursor" doc:"null on the last page"`
}

// RunSummary is a run in a list. Of a run in progress only the name, the state and the times are known.
type RunSummary struct {
	Run        string `json:"run" doc:"value of the response header Cairn-Run"`
	State      string `json:"state" doc:"running, done, failed or canceled; a run whose worker was lost is running until a client resumes it"`
	StartedAt  string `json:"started_at" doc:"RFC 3339"`
	UpdatedAt  string `json:"updated_at" doc:"time of its end, or at which its last events were stored, RFC 3339"`
	Query      string `json:"query,omitzero" doc:"the question, at most 500 characters; absent for a run of other tenants than those of the credential"`
	User       string `json:"user,omitzero" doc:"id of the credential"`
	Model      string `json:"model,omitzero"`
	DurationMS int64  `json:"duration_ms,omitzero" doc:"from the start to the end, in milliseconds"`
	Usage      *Usage `json:"usage,omitzero" doc:"tokens and tool calls"`
	Code       string `json:"code,omitzero" doc:"of the error of a run that failed or was canceled"`
}
