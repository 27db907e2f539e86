package tags_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/tags"
)

// list returns the ids of the tags of a tenant, of all pages.
func (c client) list(tenant string, limit int) (ids []string) {
	c.t.Helper()
	q := schemas.TagQuery{TenantID: schemas.Optional(tenant), Limit: &limit}
	for {
		page, err := bus.ListTags.Call(c.t.Context(), c.conn, q)
		if err != nil {
			c.t.Fatal(err)
		}
		if len(page.Tags) > limit {
			c.t.Fatalf("got %d tags, want at most %d", len(page.Tags), limit)
		}
		for _, tag := range page.Tags {
			ids = append(ids, tag.RequestID)
		}
		if page.NextCursor == nil {
			return ids
		}
		q.Cursor = *page.NextCursor
	}
}

func TestListTags(t *testing.T) {
	t.Parallel()
	c := serving(t, tags.Settings{})
	for n := range 7 {
		for _, tenant := range []string{"", "acme", "acme.eu"} {
			if err := c.writeFor(tenant, fmt.Sprintf("%s/%d", tenant, n), 600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.delete("/3"); err != nil {
		t.Fatal(err)
	}
	if err := bucket.WriteFence(t.Context(), c.conn.JetStream(), tags.Bucket); err != nil {
		t.Fatal(err)
	}
	for tenant, want := range map[string]string{
		"":        "/0 /1 /2 /4 /5 /6",
		"acme":    "acme/0 acme/1 acme/2 acme/3 acme/4 acme/5 acme/6",
		"acme.eu": "acme.eu/0 acme.eu/1 acme.eu/2 acme.eu/3 acme.eu/4 acme.eu/5 acme.eu/6",
		"none":    "",
	} {
		for _, limit := range []int{1, 3, 7, 1000} {
			if got := strings.Join(c.list(tenant, limit), " "); got != want {
				t.Errorf("tags of %q in pages of %d: got %s, want %s", tenant, limit, got, want)
			}
		}
	}
	s, err := c.conn.JetStream().Stream(t.Context(), bucket.StreamPrefix+tags.Bucket)
	if err != nil || s.CachedInfo().State.Consumers > 0 {
		t.Errorf("got %d consumers after the lists, %v, want none", s.CachedInfo().State.Consumers, err)
	}
}

func TestListedTagHasNoValues(t *testing.T) {
	t.Parallel()
	c := serving(t, tags.Settings{})
	if err := c.write("r1", "secret", 600); err != nil {
		t.Fatal(err)
	}
	page, err := bus.ListTags.Call(t.Context(), c.conn, schemas.TagQuery{})
	if err != nil || len(page.Tags) != 1 {
		t.Fatalf("got %+v, %v", page, err)
	}
	stored, err := c.read("r1")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(stored)
	if err != nil {
		t.Fatal(err)
	}
	got := page.Tags[0]
	created, createdErr := time.Parse(time.RFC3339, got.CreatedAt)
	expires, expiresErr := time.Parse(time.RFC3339, got.ExpiresAt)
	if err := errors.Join(createdErr, expiresErr); err != nil || expires.Sub(created) != 10*time.Minute {
		t.Errorf("created %s, expires %s, want 10 minutes between them", got.CreatedAt, got.ExpiresAt)
	}
	if got.RequestID != "r1" || got.Size != int64(len(text)) {
		t.Errorf("got %+v, want r1 with %d bytes", got, len(text))
	}
}

func TestInvalidTagLists(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	serve(t, conn)
	for name, q := range map[string]schemas.TagQuery{
		"cursor that is no number":        {Cursor: "x"},
		"cursor that is negative":         {Cursor: "-1"},
		"cursor beyond 64 bits":           {Cursor: "18446744073709551616"},
		"cursor at the largest number":    {Cursor: "18446744073709551615"},
		"page of no tags":                 {Limit: new(0)},
		"page that is too large":          {Limit: new(1001)},
		"tenant with an empty id segment": {TenantID: new("a..b")},
	} {
		if page, err := bus.ListTags.Call(t.Context(), conn, q); !errors.Is(err, schemas.ErrMalformed) {
			t.Errorf("%s: got %+v, %v, want %v", name, page, err, schemas.ErrMalformed)
		}
	}
}
