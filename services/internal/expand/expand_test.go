package expand_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/expand"
	"cairn/services/internal/model"
	"cairn/test/wait"
)

// writer is a model that answers each request with answer.
type writer struct {
	model.Model
	answer func(request string) (string, error)

	mu       sync.Mutex
	requests []string
}

func (w *writer) Next(_ context.Context, c model.Conversation) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		request := c.Messages[0].Text
		w.mu.Lock()
		w.requests = append(w.requests, request)
		w.mu.Unlock()
		text, err := w.answer(request)
		if err != nil {
			yield(model.Part{}, err)
			return
		}
		for word := range strings.SplitAfterSeq(text, " ") {
			if !yield(model.Part{Text: word}, nil) {
				return
			}
		}
	}
}

// count returns the number of requests whose text contains s.
func (w *writer) count(s string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.requests {
		if strings.Contains(r, s) {
			n++
		}
	}
	return n
}

// world is a catalog with expanders.
type world struct {
	t    *testing.T
	conn *bus.Conn
	log  *catalog.Catalog
}

func newWorld(t *testing.T) *world {
	conn := bustest.Open(t)
	log, err := catalog.Setup(t.Context(), conn.JetStream(), bucket.Replication{})
	if err != nil {
		t.Fatal(err)
	}
	return &world{t, conn, log}
}

// expander starts an expander with the model until the test ends.
func (w *world) expander(m model.Model) *expand.Expander {
	w.t.Helper()
	e, err := expand.Start(w.t.Context(), expand.Deps{
		JetStream: w.conn.JetStream(), Catalog: w.log, Model: m, Log: slog.New(slog.DiscardHandler), Interval: time.Millisecond,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(e.Close)
	return e
}

func (w *world) put(id, members string) {
	w.t.Helper()
	record := fmt.Sprintf(`{"skill_id":%q%s}`, id, members)
	if _, err := w.log.Put(w.t.Context(), key(id), []byte(record)); err != nil {
		w.t.Fatal(err)
	}
}

// newest returns the newest change of the skill.
func (w *world) newest(id string) catalog.Revision {
	w.t.Helper()
	list, err := w.log.History(w.t.Context(), key(id))
	if err != nil || len(list) == 0 {
		w.t.Fatalf("%d revisions of %s, %v", len(list), id, err)
	}
	return list[0]
}

// drained waits until the expanders have handled all skills.
func (w *world) drained() {
	w.t.Helper()
	wait.Success(w.t, func() error {
		c, err := w.conn.JetStream().Consumer(w.t.Context(), catalog.Stream, expand.Durable)
		if err != nil {
			return err
		}
		info, err := c.Info(w.t.Context())
		if err != nil {
			return err
		}
		// While the server replaces a message, neither the old nor the new one is counted.
		stream, err := w.conn.JetStream().Stream(w.t.Context(), catalog.Stream)
		if err != nil {
			return err
		}
		last := stream.CachedInfo().State.LastSeq
		if info.NumPending > 0 || info.NumAckPending > 0 || info.Delivered.Stream < last {
			return fmt.Errorf("%d pending, %d in progress, %d of %d delivered",
				info.NumPending, info.NumAckPending, info.Delivered.Stream, last)
		}
		return nil
	})
}

func key(id string) catalog.Key {
	return catalog.Key{Kind: schemas.KindSkill, Tenant: "acme", ID: id}
}

func always(answer string) func(string) (string, error) {
	return func(string) (string, error) { return answer, nil }
}

func TestGeneratedQueries(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, members, answer string
		want                  []string
	}{
		{"a JSON array", `,"purpose":"p"`, `["one", "two"]`, []string{"one", "two"}},
		{"a Markdown fence", `,"purpose":"p"`, "```json\n[\"one\"]\n```", []string{"one"}},
		{"more than five", `,"purpose":"p"`, `["a","b","c","d","e","f"]`, []string{"a", "b", "c", "d", "e"}},
		{"the queries of the author count", `,"example_queries":["1","2","3"]`, `["a","b","c"]`, []string{"a", "b"}},
		{"a query of the author is not repeated", `,"example_queries":["Free space"]`, `["free  SPACE","a"]`, []string{"a"}},
		{"duplicates and empty queries", `,"purpose":"p"`, `["a",""," a","A"]`, []string{"a"}},
		{"line breaks", `,"purpose":"p"`, `["a\r\nb"]`, []string{"a b"}},
		{"a query of 201 characters", `,"purpose":"p"`, `["` + strings.Repeat("ü", 201) + `","a"]`, []string{"a"}},
		{"other languages", `,"purpose":"p"`, `["Wie voll ist das Array?"]`, []string{"Wie voll ist das Array?"}},
		{"no array", `,"purpose":"p"`, `I cannot do that.`, nil},
		{"an array of numbers", `,"purpose":"p"`, `[1,2]`, nil},
		{"an endless answer", `,"purpose":"p"`, strings.Repeat("word ", 10_000), nil},
		{"a draft", `,"status":"draft"`, `["a"]`, nil},
		{"five queries of the author", `,"example_queries":["1","2","3","4","5"]`, `["a"]`, nil},
		{"an unreadable record", `,"purpose":7`, `["a"]`, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.put("disk.space", row.members)
			registered := w.newest("disk.space")
			w.expander(&writer{answer: always(row.answer)})
			w.drained()
			got := w.newest("disk.space")
			if diff := cmp.Diff(row.want, got.Generated); diff != "" {
				t.Errorf("queries (-want +got):\n%s", diff)
			}
			if string(got.Record) != string(registered.Record) {
				t.Errorf("the record is %s, want %s", got.Record, registered.Record)
			}
		})
	}
}

func TestEachSkillIsExpandedOnce(t *testing.T) {
	t.Parallel()
	w, m := newWorld(t), &writer{answer: always(`["a"]`)}
	w.expander(m)
	w.expander(m)
	for i := range 20 {
		w.put(fmt.Sprintf("net.s%d", i), fmt.Sprintf(`,"purpose":"number %d."`, i))
	}
	w.drained()
	w.expander(m).Close() // a restart
	for i := range 20 {
		if n := m.count(fmt.Sprintf("number %d.", i)); n != 1 {
			t.Errorf("%d requests for skill %d, want 1", n, i)
		}
	}
}

// TestDeletedConsumerIsCreatedAgain deletes the consumer below a running expander.
func TestDeletedConsumerIsCreatedAgain(t *testing.T) {
	t.Parallel()
	w, m := newWorld(t), &writer{answer: always(`["a"]`)}
	w.expander(m)
	w.put("net.one", `,"purpose":"number 1."`)
	w.drained()
	if err := w.conn.JetStream().DeleteConsumer(t.Context(), catalog.Stream, expand.Durable); err != nil {
		t.Fatal(err)
	}
	w.put("net.two", `,"purpose":"number 2."`)
	wait.Until(t, "the second skill has queries", func() bool { return len(w.newest("net.two").Generated) == 1 })
}

func TestRegistrationReplacesGeneratedQueries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.expander(&writer{answer: func(request string) (string, error) {
		return `["` + strings.TrimSpace(strings.TrimPrefix(request, "Purpose: ")) + `?"]`, nil
	}})
	w.put("net.vlan", `,"purpose":"first"`)
	w.drained()
	w.put("net.vlan", `,"purpose":"second"`)
	w.drained()
	if got := w.newest("net.vlan").Generated; !slices.Equal(got, []string{"second?"}) {
		t.Errorf("got %q, want those of the second registration", got)
	}
}

// TestConcurrentRegistration registers the skill again while the model writes.
func TestConcurrentRegistration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var once sync.Once
	w.expander(&writer{answer: func(request string) (string, error) {
		once.Do(func() { w.put("net.vlan", `,"purpose":"newer"`) })
		if strings.Contains(request, "newer") {
			return `["of the newer one"]`, nil
		}
		return `["of the older one"]`, nil
	}})
	w.put("net.vlan", `,"purpose":"older"`)
	w.drained()
	got := w.newest("net.vlan")
	if !strings.Contains(string(got.Record), "newer") || !slices.Equal(got.Generated, []string{"of the newer one"}) {
		t.Errorf("got %s with %q, want the newer record with its queries", got.Record, got.Generated)
	}
}

func TestUnavailableModelIsRetried(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var calls int
	w.expander(&writer{answer: func(string) (string, error) {
		if calls++; calls < 3 {
			return "", fmt.Errorf("%w: connection refused", model.ErrUnavailable)
		}
		return `["a"]`, nil
	}})
	w.put("net.vlan", `,"purpose":"p"`)
	w.drained()
	if got := w.newest("net.vlan").Generated; !slices.Equal(got, []string{"a"}) {
		t.Errorf("got %q, want the query of the third request", got)
	}
}

func TestDeletedSkillIsNotExpanded(t *testing.T) {
	t.Parallel()
	w, m := newWorld(t), &writer{answer: always(`["a"]`)}
	w.put("net.vlan", `,"purpose":"p"`)
	if _, err := w.log.Delete(t.Context(), key("net.vlan"), func(uint64) error { return nil }); err != nil {
		t.Fatal(err)
	}
	w.expander(m)
	w.drained()
	if n := m.count(""); n != 0 || !w.newest("net.vlan").Removed {
		t.Errorf("%d requests, removed %v, want none for a deleted skill", n, w.newest("net.vlan").Removed)
	}
}
