package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/deploy/load"
	"cairn/edge/client"
	"cairn/schemas"
)

// operationShares maps each load to its operations and their shares.
var operationShares = map[string]map[string]float64{
	"tags":     {"tags-write": 1, "tags-read": 1},
	"by-id":    {"by-id": 1},
	"search":   {"search": 1},
	"register": {"register": 1},
	"analyze":  {"analyze": 1},
	"mix":      {"tags-write": 20, "tags-read": 20, "by-id": 25, "search": 20, "register": 10, "analyze": 5},
}

const (
	// tagTime is the TTL of written tags.
	tagTime = 2 * time.Minute
	// recentTags is the number of most recently written tags that are read.
	recentTags = 8
)

// loadClient sends the requests of a load.
type loadClient struct {
	*client.Client
	tenant   string
	skills   int
	analysis schemas.Analysis
	writes   atomic.Int64
	written  [recentTags]atomic.Pointer[string]
}

// operations returns the operations of the named load.
func (a *loadClient) operations(name string) []load.Operation {
	shares := operationShares[name]
	var list []load.Operation
	for _, o := range []load.Operation{
		{Name: "tags-write", Do: a.writeTag}, {Name: "tags-read", Do: a.readTag}, {Name: "by-id", Do: a.byID},
		{Name: "search", Do: a.search}, {Name: "register", Do: a.register}, {Name: "analyze", Stream: true, Do: a.analyze},
	} {
		if o.Share = shares[o.Name]; o.Share > 0 {
			list = append(list, o)
		}
	}
	return list
}

// exchange sends v as JSON and reads the response to its end.
func (a *loadClient) exchange(ctx context.Context, method, path string, v any) load.Answer {
	ctx, cancel := context.WithTimeout(ctx, client.RequestTimeout)
	defer cancel()
	var body []byte
	if v != nil {
		var err error
		if body, err = json.Marshal(v); err != nil {
			return load.Answer{Err: err.Error()}
		}
	}
	res, err := a.Open(ctx, method, path, body, nil)
	if err != nil {
		return load.Answer{Err: errorClass(ctx, err)}
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode >= 300 {
		return load.Answer{Err: codeOf(res)}
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return load.Answer{Err: errorClass(ctx, err)}
	}
	return load.Answer{}
}

// errorClass returns the error class of a failed or incomplete response: the status,
// followed by Cairn's error code if there is one, timeout or connection failure.
func errorClass(ctx context.Context, err error) string {
	var failure *schemas.Error
	var status *client.StatusError
	switch {
	case errors.As(err, &failure):
		return strconv.Itoa(failure.Status) + " " + failure.Code
	case errors.As(err, &status):
		return strconv.Itoa(status.StatusCode)
	case ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded):
		return load.TimedOut
	}
	return "connection failed"
}

// codeOf returns the error class of an error response.
func codeOf(res *http.Response) string {
	text := strconv.Itoa(res.StatusCode)
	var e schemas.Error
	body, err := io.ReadAll(res.Body)
	if err == nil && json.Unmarshal(body, &e) == nil && e.Code != "" {
		text += " " + e.Code
	}
	return text
}

// writeTag writes the next tag.
func (a *loadClient) writeTag(ctx context.Context, _ int) load.Answer {
	n := a.writes.Add(1)
	id, ttl := fmt.Sprintf("%s-%d", a.tenant, n), int(tagTime.Seconds())
	answer := a.exchange(ctx, http.MethodPost, "/tags/write", schemas.TagWrite{
		Tag: schemas.Tag{RequestID: id, Flow: "bench", Tags: map[string]jsontext.Value{"phase": jsontext.Value(`"start"`),
			"tenant": jsontext.Value(`"bench"`)}},
		TTLSeconds: &ttl,
	})
	if answer.Err == "" {
		a.written[n%recentTags].Store(&id)
	}
	return answer
}

// readTag reads a recently written tag, or writes one if there is none yet.
func (a *loadClient) readTag(ctx context.Context, n int) load.Answer {
	for i := range recentTags {
		if id := a.written[(n+i)%recentTags].Load(); id != nil {
			return a.exchange(ctx, http.MethodGet, "/tags/"+*id, nil)
		}
	}
	return a.writeTag(ctx, n)
}

func (a *loadClient) byID(ctx context.Context, n int) load.Answer {
	return a.exchange(ctx, http.MethodPost, "/resolve/skill",
		schemas.SkillQuery{SkillID: skillID(n % a.skills), QueryOptions: a.options()})
}

func (a *loadClient) search(ctx context.Context, n int) load.Answer {
	return a.exchange(ctx, http.MethodPost, "/resolve/skill", schemas.SkillQuery{
		Query:        "how do I " + purpose(n%a.skills) + "?",
		QueryOptions: a.options(),
	})
}

func (a *loadClient) options() schemas.QueryOptions {
	return schemas.QueryOptions{TenantID: &a.tenant}
}

// register replaces a skill with one that has a different description.
func (a *loadClient) register(ctx context.Context, n int) load.Answer {
	s := newSkill(n % a.skills)
	s.TenantID = &a.tenant
	s.Description += fmt.Sprintf(" Revised %d times.", n)
	return a.exchange(ctx, http.MethodPost, "/register/skill", map[string]schemas.Skill{"record": s})
}

// analyze sends a question about an estate and reads all events. It resumes an
// interrupted stream.
func (a *loadClient) analyze(ctx context.Context, _ int) (answer load.Answer) {
	run, err := a.Analyze(ctx, a.analysis)
	if err != nil {
		return load.Answer{Err: errorClass(ctx, err)}
	}
	done := false
	for e, err := range run.Events() {
		if err != nil {
			answer.Err = cmp.Or(answer.Err, errorClass(ctx, err))
			break
		}
		if answer.First.IsZero() {
			answer.First = time.Now()
		}
		done = e.Type == schemas.EventDone
		if e.Type == schemas.EventError {
			var failure schemas.StreamError
			_ = e.Decode(&failure) // a malformed event counts as an error, too
			answer.Err = "event " + cmp.Or(failure.Code, "error")
		}
	}
	if ctx.Err() == nil && !done {
		answer.Err = cmp.Or(answer.Err, "no done event")
	}
	return answer
}
