package analyze

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"cairn/bus"
	"cairn/bus/admission"
	"cairn/bus/bucket"
	"cairn/schemas"
)

const (
	// SummaryStream is the JetStream stream with a message for each run that has ended.
	SummaryStream = "cairn_runs"
	// DefaultRetention is the default time for which summaries are retained.
	DefaultRetention = 24 * time.Hour

	// summarySubjects is followed by hashes of the tenants, of the credential and of the model, the state, the start in
	// nanoseconds, and the name of the run, so that a list selects and sorts runs by their subjects.
	summarySubjects = "cairn.runs."
	// minRetention is the time for which the events of a run are stored.
	minRetention = 2 * time.Minute
	// maxSummaries is the number of summaries; the oldest ones are removed first. A list reads their subjects: of all
	// 20,000, it takes 150 ms of CPU time.
	maxSummaries = 20_000
	// summaryShare is the divisor of the storage that summaries may use: half a percent.
	summaryShare = 200
	// maxSummaryQuery is the length of the question in a summary, in characters.
	maxSummaryQuery = 500
	// maxLists is the number of lists that a worker reads at the same time. A tenant reads one, so that another can.
	maxLists = 2
)

// SetupSummaries creates or upgrades the stream of the summaries. It retains them for retention, and at least for
// minRetention.
func SetupSummaries(ctx context.Context, js jetstream.JetStream, replication bucket.Replication,
	retention time.Duration) error {
	config := jetstream.StreamConfig{
		Name:        SummaryStream,
		Description: "question, user, model, duration, tokens and outcome of analyses",
		Subjects:    []string{summarySubjects + ">"},
		AllowDirect: true,
		MaxAge:      max(retention, minRetention),
		MaxMsgs:     maxSummaries,
		MaxBytes:    -1,
		Discard:     jetstream.DiscardOld,
		Storage:     jetstream.FileStorage,
	}
	if replication.Storage.Bytes > 0 {
		config.MaxBytes = replication.Storage.Bytes / summaryShare
	}
	_, err := bucket.SetupStream(ctx, js, config, replication)
	return err
}

// run is an analysis in progress.
type run struct {
	bus.Sender
	started time.Time
	model   string // empty: none was called
	usage   schemas.Usage
}

// summary returns the summary of a run that ends with err.
func (r *run) summary(ctx context.Context, req schemas.Analysis, err error) schemas.RunSummary {
	ended := time.Now()
	s := schemas.RunSummary{
		Run: cmp.Or(r.Run(), bus.NewRun()), State: schemas.RunDone, Query: req.Query, Model: r.model, Usage: &r.usage,
		StartedAt: r.started.UTC().Format(time.RFC3339Nano), UpdatedAt: ended.UTC().Format(time.RFC3339Nano),
		DurationMS: ended.Sub(r.started).Milliseconds(),
	}
	if long := []rune(s.Query); len(long) > maxSummaryQuery {
		s.Query = string(long[:maxSummaryQuery-1]) + "…"
	}
	if caller := bus.Identity(ctx); caller != nil {
		s.User = caller.ID
	}
	if err != nil {
		s.State, s.Code = schemas.RunFailed, bus.Analyze.Failure(ctx, err).Code
	}
	if s.Code == schemas.ErrRunStopped.Code {
		s.State = schemas.RunCanceled
	}
	return s
}

// summaries writes and lists the summaries of runs. It may be used concurrently.
type summaries struct {
	js    jetstream.JetStream
	lists *admission.Pool // lists in progress
}

// record publishes the summary of a run of the caller. It does not wait until the summary is stored: it is lost while
// the stream has no leader.
func (s summaries) record(started time.Time, r schemas.RunSummary, caller *schemas.Identity) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	start := strconv.FormatInt(started.UnixNano(), 10)
	subject := subjectOf(owner(caller), hashed(r.User), hashed(r.Model), r.State, start, r.Run)
	return s.js.Conn().Publish(subject, data)
}

// summary is a run with a stored summary.
type summary struct {
	bus.StoredRun
	subject string
}

// find returns the ended runs of the caller that the query selects, by name; none if there is no stream.
func (s summaries) find(ctx context.Context, q schemas.RunQuery,
	caller *schemas.Identity) (map[string]*summary, error) {
	tokens := []string{"*", "*", "*", "*", "*", "*"}
	for i, token := range []string{owner(caller), hashed(q.User), hashed(q.Model), q.State} {
		if i == 0 && caller.Bound() || i == 1 && q.User != "" || i == 2 && q.Model != "" || i == 3 && q.State != "" {
			tokens[i] = token
		}
	}
	tenant := bus.AdmissionKey(caller, nil)
	if err := s.lists.Wait(ctx, tenant, 1); err != nil {
		return nil, err
	}
	defer s.lists.Release(tenant, 1)
	stream, err := s.js.Stream(ctx, SummaryStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(subjectOf(tokens...)))
	if err != nil {
		return nil, err
	}
	list := make(map[string]*summary, len(info.State.Subjects))
	for subject := range info.State.Subjects {
		if entry, err := parseSummary(subject); err == nil {
			list[entry.Name] = entry
		}
	}
	return list, nil
}

// read completes the runs of a page that have ended. The question of a run of other tenants than the caller's is
// absent.
func (s summaries) read(ctx context.Context, page []schemas.RunSummary, ended map[string]*summary,
	caller *schemas.Identity) error {
	var subjects []string
	index := map[string]int{}
	for i, r := range page {
		if stored := ended[r.Run]; stored != nil {
			subjects = append(subjects, stored.subject)
			index[stored.subject] = i
		}
	}
	if len(subjects) == 0 {
		return nil
	}
	messages, err := bucket.Collect(jetstreamext.GetLastMsgsFor(ctx, s.js, SummaryStream, subjects))
	if err = cmp.Or(err, ctx.Err()); err != nil { // Collect returns no error when ctx has ended
		return fmt.Errorf("read stream %s: %w", SummaryStream, err)
	}
	own := subjectOf(owner(caller), "")
	for _, msg := range messages {
		var r schemas.RunSummary
		if err := json.Unmarshal(msg.Data, &r); err != nil {
			return fmt.Errorf("read the summary %s: %w", msg.Subject, err)
		}
		if !strings.HasPrefix(msg.Subject, own) {
			r.Query = ""
		}
		page[index[msg.Subject]] = r
	}
	return nil
}

func subjectOf(tokens ...string) string { return summarySubjects + strings.Join(tokens, ".") }

// parseSummary returns the run of a subject of the stream.
func parseSummary(subject string) (*summary, error) {
	tokens := strings.Split(strings.TrimPrefix(subject, summarySubjects), ".")
	if len(tokens) != 6 {
		return nil, errors.New("expected six tokens")
	}
	start, err := strconv.ParseInt(tokens[4], 10, 64)
	if err != nil {
		return nil, err
	}
	started := time.Unix(0, start)
	return &summary{bus.StoredRun{Name: tokens[5], State: tokens[3], Started: started, Updated: started}, subject}, nil
}

// owner returns the token of the tenants of the caller.
func owner(caller *schemas.Identity) string { return hashed(bus.AdmissionKey(caller, nil)) }

// hashed returns a token of a subject that stands for the text, whose length and characters are arbitrary.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:12])
}
