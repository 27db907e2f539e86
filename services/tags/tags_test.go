package tags_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/tags"
	"cairn/test/wait"
)

// serve answers the tag endpoints on conn with the default settings.
func serve(t testing.TB, conn *bus.Conn) {
	t.Helper()
	serveWith(t, conn, tags.Settings{}, tags.DefaultTTL)
}

func serveWith(t testing.TB, conn *bus.Conn, settings tags.Settings, ttl time.Duration) {
	t.Helper()
	store, err := tags.Create(t.Context(), conn, settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	if err := tags.Serve(bustest.Service(t, conn, "tags"), store, ttl); err != nil {
		t.Fatal(err)
	}
}

// client calls the tag endpoints for a test.
type client struct {
	t    testing.TB
	conn *bus.Conn
}

// serving returns a client of a new worker.
func serving(t testing.TB, settings tags.Settings) client {
	t.Helper()
	conn := bustest.Open(t)
	serveWith(t, conn, settings, tags.DefaultTTL)
	return client{t, conn}
}

func (c client) write(id, phase string, seconds ...int) error {
	w := schemas.TagWrite{Tag: tag(id, phase)}
	if len(seconds) > 0 {
		w.TTLSeconds = &seconds[0]
	}
	_, err := bus.WriteTag.Call(c.t.Context(), c.conn, w)
	return err
}

func (c client) read(id string) (schemas.Tag, error) {
	answer, err := bus.ReadTag.Call(c.t.Context(), c.conn, schemas.TagKey{RequestID: id})
	return answer.Tags, err
}

func (c client) delete(id string) error {
	_, err := bus.DeleteTag.Call(c.t.Context(), c.conn, schemas.TagKey{RequestID: id})
	return err
}

func tag(id, phase string) schemas.Tag {
	return schemas.Tag{RequestID: id, Flow: "default", Tags: map[string]jsontext.Value{
		"phase": jsontext.Value(`"` + phase + `"`), "count": jsontext.Value("9007199254740993"),
	}}
}

// step is a call of a row and its expected error.
type step struct {
	do   func(client) error
	want error
}

var (
	write  = func(c client) error { return c.write("r1", "one") }
	again  = func(c client) error { return c.write("r1", "two") }
	remove = func(c client) error { return c.delete("r1") }
	read   = func(c client) error { _, err := c.read("r1"); return err }
)

func TestTags(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name  string
		steps []step
	}{
		{"a tag is written and read", []step{{write, nil}, {read, nil}}},
		{"a second write of the same request_id conflicts", []step{{write, nil}, {again, schemas.ErrTagExists}}},
		{"a read without a record finds none", []step{{read, schemas.ErrTagNotFound}}},
		{"a deleted record is not found", []step{{write, nil}, {remove, nil}, {read, schemas.ErrTagNotFound}}},
		{"deleting an absent record succeeds", []step{{remove, nil}, {remove, nil}}},
		{"after a delete one new write succeeds", []step{
			{write, nil}, {remove, nil}, {again, nil}, {write, schemas.ErrTagExists}, {read, nil}}},
		{"a delete of an absent record leaves the id free",
			[]step{{remove, nil}, {write, nil}, {again, schemas.ErrTagExists}}},
	}
	for _, storage := range []tags.Settings{{}, {Memory: true}} {
		for _, row := range rows {
			t.Run(fmt.Sprintf("memory=%v/%s", storage.Memory, row.name), func(t *testing.T) {
				t.Parallel()
				conn := bustest.Open(t)
				serveWith(t, conn, storage, tags.DefaultTTL)
				for i, s := range row.steps {
					if err := s.do(client{t, conn}); !errors.Is(err, s.want) {
						t.Fatalf("step %d: got %v, want %v", i+1, err, s.want)
					}
				}
			})
		}
	}
}

func TestTagIsImmutable(t *testing.T) {
	t.Parallel()
	c := serving(t, tags.Settings{})
	_ = c.write("r1", "one")
	_ = c.write("r1", "two") // rejected
	got, err := c.read("r1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tag("r1", "one"), got); diff != "" {
		t.Errorf("tag differs (-want +got):\n%s", diff)
	}
}

func TestRequestIDsAreDistinct(t *testing.T) {
	t.Parallel()
	c := serving(t, tags.Settings{})
	ids := []string{" ", ".", "..", "a.b", "a b", "a/b", "*", ">", "$KV", "a\nb", "\x00", "é", "e\u0301", "A", "a", "a=",
		"a==",
		"日本", "🙂", "%2F", "+", "-", "_", "YQ", `"`, `\`, strings.Repeat("🙂", 256), strings.Repeat("x", 256)}
	for i, id := range ids {
		if err := c.write(id, fmt.Sprint(i)); err != nil {
			t.Fatalf("write %q: %v", id, err)
		}
	}
	for i, id := range ids {
		got, err := c.read(id)
		if err != nil {
			t.Fatalf("read %q: %v", id, err)
		}
		if diff := cmp.Diff(tag(id, fmt.Sprint(i)), got); diff != "" {
			t.Errorf("tag %q differs (-want +got):\n%s", id, diff)
		}
	}
}

func TestConcurrentWrites(t *testing.T) {
	t.Parallel()
	server, conn := bustest.Start(t)
	serve(t, conn)
	serve(t, bustest.Dial(t, server)) // a second worker
	for _, before := range []string{"nothing", "a deleted record"} {
		id := "after " + before
		if before != "nothing" {
			_ = client{t, conn}.write(id, "old")
			_ = client{t, conn}.delete(id)
		}
		outcomes := make([]error, 24)
		var wg sync.WaitGroup
		for i := range outcomes {
			wg.Go(func() { outcomes[i] = client{t, conn}.write(id, fmt.Sprint(i)) })
		}
		wg.Wait()
		checkOneWritten(t, id, outcomes)
	}
}

// checkOneWritten checks the outcomes of concurrent writes of a tag.
func checkOneWritten(t *testing.T, id string, outcomes []error) {
	t.Helper()
	winners := 0
	for i, err := range outcomes {
		if err == nil {
			winners++
		} else if !errors.Is(err, schemas.ErrTagExists) {
			t.Errorf("%s: write %d: got %v, want %v", id, i, err, schemas.ErrTagExists)
		}
	}
	if winners != 1 {
		t.Errorf("%s: %d writes succeeded, want 1", id, winners)
	}
}

func TestTTLSeconds(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	serveWith(t, conn, tags.Settings{}, time.Minute)
	rows := []struct {
		name    string
		seconds int
		want    string
	}{
		{"the minimum", 1, ""},
		{"the maximum", 60, ""},
		{"above the maximum", 61, "ttl_seconds: expected an integer from 1 to 60, got 61"},
		{"zero", 0, "ttl_seconds: expected an integer of at least 1, got 0"},
		{"negative", -1, "ttl_seconds: expected an integer of at least 1, got -1"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			err := client{t, conn}.write(row.name, "one", row.seconds)
			if row.want == "" {
				if err != nil {
					t.Errorf("got %v, want no error", err)
				}
				return
			}
			if !errors.Is(err, schemas.ErrMalformed) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %v with %q", err, schemas.ErrMalformed, row.want)
			}
		})
	}
}

func TestTagExpires(t *testing.T) {
	t.Parallel()
	for _, storage := range []tags.Settings{{}, {Memory: true}} {
		t.Run(fmt.Sprintf("memory=%v", storage.Memory), func(t *testing.T) {
			t.Parallel()
			c := serving(t, storage)
			if err := c.write("kept", "one", 600); err != nil {
				t.Fatal(err)
			}
			written := time.Now()
			if err := c.write("r1", "one", 2); err != nil {
				t.Fatal(err)
			}
			wait.Until(t, "the tag expires", func() bool { return errors.Is(read(c), schemas.ErrTagNotFound) })
			gone := time.Now()
			if early := 2*time.Second - gone.Sub(written); early > 50*time.Millisecond {
				t.Errorf("expired %v before its deadline", early)
			}
			if err := c.write("r1", "two"); err != nil {
				t.Errorf("write after expiry: %v", err)
			}
			if _, err := c.read("kept"); err != nil {
				t.Errorf("read a record with time left: %v", err)
			}
		})
	}
}

// TestServerDecidesExpiry: a tag that the server still stores is not replaced, however
// far the clock of the worker is past its deadline.
func TestServerDecidesExpiry(t *testing.T) {
	t.Parallel()
	c := serving(t, tags.Settings{})
	key := base64.RawURLEncoding.EncodeToString([]byte("r1"))
	// The deadline of a message without a time to live is the moment at which it was
	// stored, and the server never removes it.
	js := c.conn.JetStream()
	if _, err := js.Publish(t.Context(), "$KV.cairn_tags."+key, []byte(`{"request_id":"r1"}`)); err != nil {
		t.Fatal(err)
	}
	if err := read(c); err != nil {
		t.Errorf("read: %v", err)
	}
	if err := write(c); !errors.Is(err, schemas.ErrTagExists) {
		t.Errorf("write: got %v, want %v", err, schemas.ErrTagExists)
	}
	if err := c.delete("r1"); err != nil {
		t.Errorf("delete: %v", err)
	}
	if err := write(c); err != nil {
		t.Errorf("write after it was deleted: %v", err)
	}
}

func TestInvalidTTL(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	for _, ttl := range []time.Duration{0, time.Millisecond, 1500 * time.Millisecond, -time.Second} {
		if err := tags.Serve(bustest.Service(t, conn, "tags"), nil, ttl); err == nil {
			t.Errorf("time to live %v: got no error", ttl)
		}
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	serve(t, conn)
	got, err := bus.Health("tags").Call(t.Context(), conn, schemas.Nothing{})
	if err != nil {
		t.Fatal(err)
	}
	if want := (schemas.Health{Service: "tags", Status: schemas.StatusOK, Version: bus.Version}); !cmp.Equal(want, got) {
		t.Errorf("health differs (-want +got):\n%s", cmp.Diff(want, got))
	}
}
