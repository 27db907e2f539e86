// Package expand writes example queries for skills with a language model, so that
// searches also match words that the author did not use (Re-Invoke, Chen et al. 2024;
// Tool2Vec, Moon et al. 2024).
//
// The register workers share a durable consumer of the skills in the catalog. For each
// registered skill one of them requests queries from the model and stores them beside the
// record ([catalog.Catalog.AddGenerated]). Queries of the author are never replaced. A skill
// is searchable without generated queries until they are stored, and permanently if the
// model writes none.
package expand

import (
	"context"
	_ "embed" // the prompt
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/time/rate"

	"cairn/bus/bucket"
	"cairn/bus/retry"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/model"
)

const (
	// Durable is the consumer that the workers share.
	Durable = "cairn_expand"
	// MaxQueries is the maximum number of example queries of a skill with generated ones.
	MaxQueries = 5
	// maxQuery is the maximum length of a generated query in characters.
	maxQuery = 200
	// maxAnswer is the maximum length of the model's answer in bytes.
	maxAnswer = 16 << 10
	// maxInstructions is the length in bytes of the instructions that the model reads.
	maxInstructions = 2 << 10
	// interval is the minimum time between two requests of a worker to the model, which
	// analyses use too.
	interval = time.Second
	// Delay of a retry after the model has failed, in intervals, doubled with each attempt.
	firstRetry = 10
	lastRetry  = 600
	// reopenInterval is the delay before a deleted consumer is recreated.
	reopenInterval = time.Second
	// modelTimeout bounds a request to the model.
	modelTimeout = time.Minute
	// ackWait is the time after which the skill of a killed worker is redelivered.
	ackWait = 2 * modelTimeout
)

//go:embed prompt.md
var prompt string

// Deps are the dependencies of an expander.
type Deps struct {
	JetStream jetstream.JetStream
	Catalog   *catalog.Catalog
	Model     model.Model // not the offline planner, which writes no queries
	Log       *slog.Logger
	// Interval is the minimum time between two requests to the model; 0: 1 s.
	Interval time.Duration
}

// Expander generates example queries in the background.
type Expander struct {
	deps    Deps
	limiter *rate.Limiter
	stop    context.CancelFunc
	running sync.WaitGroup
}

// Start starts an expander. The caller closes it.
func Start(ctx context.Context, deps Deps) (*Expander, error) {
	if deps.Interval == 0 {
		deps.Interval = interval
	}
	messages, err := open(ctx, deps.JetStream)
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(context.Background())
	e := &Expander{deps: deps, limiter: rate.NewLimiter(rate.Every(deps.Interval), 1), stop: stop}
	e.running.Go(func() { e.run(running, messages) })
	return e, nil
}

// open creates the consumer unless it exists, and starts to read it.
func open(ctx context.Context, js jetstream.JetStream) (messages jetstream.MessagesContext, err error) {
	err = bucket.WaitReady(ctx, js, "open the consumer "+Durable, func() error {
		consumer, err := js.CreateOrUpdateConsumer(ctx, catalog.Stream, jetstream.ConsumerConfig{
			Durable:       Durable,
			Description:   "skills without generated example queries",
			FilterSubject: catalog.Subjects(schemas.KindSkill),
			AckPolicy:     jetstream.AckExplicitPolicy,
			AckWait:       ackWait,
		})
		if err == nil {
			messages, err = consumer.Messages(jetstream.PullMaxMessages(1))
		}
		return err
	})
	return messages, err
}

// Close stops the expander and waits for it. A skill in progress is left to other workers,
// or to the next start.
func (e *Expander) Close() {
	e.stop()
	e.running.Wait()
}

// run reads skills until ctx ends. It recreates a deleted consumer.
func (e *Expander) run(ctx context.Context, messages jetstream.MessagesContext) {
	for {
		e.read(ctx, messages)
		for messages = nil; messages == nil; {
			if err := retry.Sleep(ctx, reopenInterval); err != nil {
				return
			}
			var err error
			if messages, err = open(ctx, e.deps.JetStream); err != nil && ctx.Err() == nil {
				e.deps.Log.Warn("opening the consumer of skills failed", "err", err)
			}
		}
	}
}

// read handles messages until ctx ends or the consumer is deleted.
func (e *Expander) read(ctx context.Context, messages jetstream.MessagesContext) {
	defer messages.Stop()
	for {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		switch {
		case ctx.Err() != nil, errors.Is(err, jetstream.ErrMsgIteratorClosed):
			return
		case err != nil: // such as missed heartbeats during an election
			e.deps.Log.Warn("reading skills for generated queries failed", "err", err)
		default:
			e.handle(ctx, msg)
		}
	}
}

// handle generates queries for the skill in a message. It acknowledges the message unless
// the model is unavailable or ctx ends.
func (e *Expander) handle(ctx context.Context, msg jetstream.Msg) {
	change, err := catalog.ReadChange(msg)
	if err == nil {
		err = e.expand(ctx, change)
	}
	switch {
	case ctx.Err() != nil:
		_ = msg.Nak() // a lost message is redelivered after ackWait
	case errors.Is(err, model.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		delay := e.retryDelay(msg)
		e.deps.Log.Warn("queries of a skill are not generated yet", "key", change.Key, "retry_in", delay, "err", err)
		_ = msg.NakWithDelay(delay)
	case err != nil:
		e.deps.Log.Warn("no queries are generated for a skill: register it again to retry", "key", change.Key, "err", err)
		_ = msg.Term()
	default:
		_ = msg.Ack() // a redelivered skill has its queries
	}
}

// retryDelay returns the delay before the next delivery of a message.
func (e *Expander) retryDelay(msg jetstream.Msg) time.Duration {
	intervals := lastRetry
	if meta, err := msg.Metadata(); err == nil {
		intervals = min(firstRetry<<min(meta.NumDelivered-1, 10), lastRetry)
	}
	return time.Duration(intervals) * e.deps.Interval
}

// expand stores generated queries beside the skill, unless it has enough or cannot be found.
func (e *Expander) expand(ctx context.Context, change catalog.Change) error {
	if change.Removed || len(change.Generated) > 0 {
		return nil
	}
	skill, err := schemas.DecodeStored[schemas.Skill](schemas.KindSkill, change.Record)
	if err != nil {
		return err
	}
	limit := MaxQueries - len(skill.ExampleQueries)
	if limit <= 0 || !schemas.Searchable(skill.Status) {
		return nil
	}
	if err := e.limiter.Wait(ctx); err != nil {
		return err
	}
	answer, err := e.request(ctx, description(skill))
	if err != nil {
		return err
	}
	queries, err := parse(answer, skill.ExampleQueries)
	if err != nil {
		return err
	}
	_, err = e.deps.Catalog.AddGenerated(ctx, change, queries[:min(limit, len(queries))])
	return err
}

// request returns the model's answer.
func (e *Expander) request(ctx context.Context, text string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, modelTimeout)
	defer cancel()
	var answer strings.Builder
	for part, err := range e.deps.Model.Next(ctx, model.Conversation{
		Rules: prompt, Messages: []model.Message{{Role: model.User, Text: text}},
	}) {
		if err != nil {
			return "", err
		}
		if answer.WriteString(part.Text); answer.Len() > maxAnswer {
			return "", fmt.Errorf("the answer of the model is longer than %d bytes", maxAnswer)
		}
	}
	return answer.String(), nil
}

// description returns the text of a skill that the model reads.
func description(s schemas.Skill) string {
	var b strings.Builder
	for _, line := range []struct{ name, text string }{
		{"Name", s.DisplayName},
		{"Purpose", s.Purpose},
		{"Description", s.Description},
		{"Capabilities", strings.Join(s.Capabilities, ", ")},
		{"Instructions", strings.ToValidUTF8(s.Instructions[:min(len(s.Instructions), maxInstructions)], "")},
		{"Queries of the author, not to be repeated", strings.Join(s.ExampleQueries, "; ")},
	} {
		if line.text != "" {
			fmt.Fprintf(&b, "%s: %s\n", line.name, line.text)
		}
	}
	if b.Len() == 0 {
		return "Name: " + s.SkillID
	}
	return b.String()
}

// parse returns the distinct queries of an answer that are not in known. Text around the
// JSON array, such as a Markdown fence, is ignored.
func parse(answer string, known []string) ([]string, error) {
	first, last := strings.IndexByte(answer, '['), strings.LastIndexByte(answer, ']')
	var list []string
	if first < 0 || last < first || json.Unmarshal([]byte(answer[first:last+1]), &list) != nil {
		return nil, fmt.Errorf("no JSON array of strings in the model's answer: %.100q", answer)
	}
	var queries []string
	for _, query := range list {
		query = strings.Join(strings.Fields(query), " ")
		same := func(other string) bool { return strings.EqualFold(query, other) }
		if query == "" || utf8.RuneCountInString(query) > maxQuery ||
			slices.ContainsFunc(known, same) || slices.ContainsFunc(queries, same) {
			continue
		}
		queries = append(queries, query)
	}
	if len(queries) == 0 {
		return nil, errors.New("the model wrote no usable query")
	}
	return queries, nil
}
