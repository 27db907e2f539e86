package client_test

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"cairn/edge/client"
	"cairn/schemas"
)

// agents returns n agents whose ids begin with a text.
func agents(prefix string, n int) []schemas.BulkRecord {
	list := make([]schemas.BulkRecord, n)
	for i := range list {
		list[i] = schemas.BulkRecord{Kind: schemas.KindAgent, ID: fmt.Sprintf("%s%d", prefix, i),
			Record: jsontext.Value(`{"purpose":"p"}`)}
	}
	return list
}

// putAll returns the result of each record, and how often done was called.
func putAll(t *testing.T, c *client.Client,
	list []schemas.BulkRecord) (results []schemas.RecordResult, calls int, err error) {
	results = make([]schemas.RecordResult, len(list))
	err = c.PutAll(t.Context(), list, false, func(i int, r schemas.RecordResult) {
		results[i] = r
		calls++
	})
	return results, calls, err
}

func TestPutAll(t *testing.T) {
	t.Parallel()
	c, err := client.New(client.Config{URL: address})
	must(t, err)
	list := agents("bulk-", 2500)
	list[7].ID = "a b"
	results, calls, err := putAll(t, c, list)
	if err != nil || calls != len(list) {
		t.Fatalf("%d results, %v", calls, err)
	}
	for i, r := range results {
		if invalid := r.Error != nil; invalid != (i == 7) || !invalid && r.ID != list[i].ID {
			t.Fatalf("result %d: %+v", i, r)
		}
	}
	if _, err := c.Get(t.Context(), schemas.RecordKey{Kind: schemas.KindAgent, ID: "bulk-2499"}); err != nil {
		t.Error(err)
	}
	if _, calls, err := putAll(t, c, nil); calls != 0 || err != nil {
		t.Errorf("without records: %d results, %v", calls, err)
	}
}

// TestPutAllRetries checks which records are retried.
func TestPutAllRetries(t *testing.T) {
	t.Parallel()
	stored := func(id string) string { return `{"kind":"agent","id":"` + id + `","revision":"c-7"}` + "\n" }
	const busy = `{"kind":"agent","id":"x","error":` + overloaded + "}\n"
	for _, row := range []struct {
		name    string
		first   func(w http.ResponseWriter, ids []string)
		again   string // ids of the second request
		message string // of the error
	}{
		{"all succeed", func(w http.ResponseWriter, ids []string) {
			_, _ = fmt.Fprint(w, stored(ids[0])+stored(ids[1])+stored(ids[2]))
		}, "", ""},
		{"the server is overloaded", func(w http.ResponseWriter, _ []string) {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = fmt.Fprint(w, overloaded)
		}, "r0 r1 r2", ""},
		{"a worker is overloaded", func(w http.ResponseWriter, ids []string) {
			_, _ = fmt.Fprint(w, stored(ids[0])+busy+stored(ids[2]))
		}, "r1", ""},
		{"the connection is lost", func(w http.ResponseWriter, ids []string) {
			_, _ = fmt.Fprint(w, stored(ids[0]))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, "r1 r2", ""},
		{"the edge shuts down", func(w http.ResponseWriter, ids []string) {
			_, _ = fmt.Fprint(w, stored(ids[0])+`{"error":`+overloaded+"}\n")
		}, "r1 r2", ""},
		{"the credential is revoked", func(w http.ResponseWriter, ids []string) {
			_, _ = fmt.Fprint(w, stored(ids[0])+`{"error":{"status":401,"code":"CE-006"}}`+"\n")
		}, "", "CE-006"},
		{"no permission", func(w http.ResponseWriter, _ []string) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprint(w, `{"status":403,"code":"CE-007"}`)
		}, "", "CE-007"},
		{"not JSON", func(w http.ResponseWriter, _ []string) { _, _ = fmt.Fprint(w, "<html>") }, "r0 r1 r2", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			again := ""
			c := open(t, func(w http.ResponseWriter, r *http.Request) {
				var ids []string
				for lines := bufio.NewScanner(r.Body); lines.Scan(); {
					_, id, _ := strings.Cut(lines.Text(), `"id":"`)
					id, _, _ = strings.Cut(id, `"`)
					ids = append(ids, id)
				}
				if r.Header.Get("Content-Type") != "application/x-ndjson" {
					t.Errorf("Content-Type %s", r.Header.Get("Content-Type"))
				}
				if requests.Add(1) == 1 {
					row.first(w, ids)
					return
				}
				again = strings.Join(ids, " ")
				for _, id := range ids {
					_, _ = fmt.Fprint(w, stored(id))
				}
			}, client.Config{RetryTimeout: 20 * time.Second})
			results, calls, err := putAll(t, c, agents("r", 3))
			if err != nil || calls != 3 || again != row.again {
				t.Errorf("%v, %d results, retried %q, want %q", err, calls, again, row.again)
			}
			if e := results[2].Error; (e == nil) != (row.message == "") || e != nil && e.Code != row.message {
				t.Errorf("the last result is %+v, want the error %q", results[2], row.message)
			}
		})
	}
}

// TestPutAllTimeout checks that PutAll stops retrying when another server responds, and reports no
// result for the remaining records.
func TestPutAllTimeout(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	c := open(t, func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.WriteHeader(http.StatusBadGateway)
	}, client.Config{RetryTimeout: -1})
	_, calls, err := putAll(t, c, agents("r", 2))
	var status *client.StatusError
	if !errors.As(err, &status) || calls != 0 || requests.Load() != 1 {
		t.Errorf("%v, %d results, %d requests", err, calls, requests.Load())
	}
}
