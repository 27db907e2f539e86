package edge_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/bus"
	"cairn/edge"
	"cairn/edge/ard"
	"cairn/schemas"
	"cairn/test/wait"
)

const catalogPath = "/.well-known/ai-catalog.json"

func publishing(t testing.TB) func(*edge.Config) {
	t.Helper()
	p, err := ard.NewPublisher("example.com", "")
	must(t, err)
	return func(c *edge.Config) { c.Publisher = p }
}

// listing serves listings of records with list, which returns the page of an agent listing.
func listing(t testing.TB, f *testEdge, list func(schemas.RecordQuery) (schemas.RecordList, error)) {
	t.Helper()
	must(t, bus.ListRecords.Serve(f.service, func(_ context.Context, q schemas.RecordQuery) (schemas.RecordList, error) {
		if q.Kind != schemas.KindAgent {
			return schemas.RecordList{}, nil
		}
		return list(q)
	}))
}

func card(id string, size int) jsontext.Value {
	return jsontext.Value(fmt.Sprintf(`{"agent_id":%q,"public":true,"agent_card":{"name":%q}}`, id,
		strings.Repeat("n", size)))
}

func TestDiscoveryNeedsAPublisher(t *testing.T) {
	t.Parallel()
	f := open(t)
	for _, request := range []string{"GET " + catalogPath, "GET /.well-known/ard.json", "GET /ard/skills/a.b/SKILL.md",
		"GET /ard/tenants/t/skills/a.b/SKILL.md", "POST /search", "GET /agents", "POST /explore"} {
		method, path, _ := strings.Cut(request, " ")
		a := f.request(t, method, path, strings.NewReader(`{"query":{"text":"q"}}`))
		if a.status != http.StatusNotFound || a.problem(t).Code != "CE-004" ||
			!strings.Contains(a.body, `"errorCode":"NOT_FOUND"`) {
			t.Errorf("%s: %d %s", request, a.status, a.body)
		}
	}
}

func TestCatalogIsCached(t *testing.T) {
	t.Parallel()
	f := open(t, publishing(t))
	var listings atomic.Int32
	var withdrawn atomic.Bool
	listing(t, f, func(q schemas.RecordQuery) (schemas.RecordList, error) {
		listings.Add(1)
		if !q.Public || q.Scope != schemas.ScopeGlobal || q.TenantID != nil {
			t.Errorf("the catalog lists %+v", q)
		}
		if withdrawn.Load() {
			return schemas.RecordList{}, nil
		}
		return schemas.RecordList{Records: []jsontext.Value{card("a", 1)}}, nil
	})
	began := time.Now()
	first := f.request(t, "GET", catalogPath, nil)
	tag := first.header.Get("ETag")
	if first.status != 200 || !strings.Contains(first.body, "urn:air:example.com:agent:a") || tag == "" ||
		first.header.Get("Cache-Control") != "public, max-age=60" {
		t.Fatalf("%d %v %s", first.status, first.header, first.body)
	}
	if a := f.request(t, "GET", "/.well-known/ard.json", nil); a.body != first.body {
		t.Errorf("ard.json differs: %s", a.body)
	}
	if a := f.request(t, "HEAD", catalogPath, nil); a.status != 200 || a.header.Get("ETag") != tag {
		t.Errorf("HEAD: %d, ETag %s", a.status, a.header.Get("ETag"))
	}
	var readers sync.WaitGroup
	for range 100 {
		readers.Go(func() {
			if a := f.request(t, "GET", catalogPath, nil, "If-None-Match: "+tag); a.status != http.StatusNotModified ||
				a.body != "" {
				t.Errorf("If-None-Match: %d %s", a.status, a.body)
			}
		})
	}
	readers.Wait()
	// A listing that is slow on a busy machine is hedged, like any read.
	if limit := 2 + 2*int32(time.Since(began)/time.Second); listings.Load() > limit {
		t.Errorf("%d listings for 103 requests, want at most %d", listings.Load(), limit)
	}
	if a := f.request(t, "GET", catalogPath, nil, "If-None-Match: x"); a.status != 400 || a.problem(t).Code != "CE-001" {
		t.Errorf("a malformed If-None-Match: %d %s", a.status, a.body)
	}
	withdrawn.Store(true)
	wait.Until(t, "a withdrawn record leaves the catalog", func() bool {
		a := f.request(t, "GET", catalogPath, nil, "If-None-Match: "+tag)
		return a.status == 200 && !strings.Contains(a.body, "agent:a")
	})
}

func TestCatalogIsBounded(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"many records": 1, "large records": 100 << 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := open(t, publishing(t))
			var n atomic.Int32
			listing(t, f, func(q schemas.RecordQuery) (page schemas.RecordList, err error) {
				for range min(*q.Limit, 5*100<<10/size) {
					page.Records = append(page.Records, card(fmt.Sprint("a", n.Add(1)), size))
				}
				page.NextCursor = new(string)
				*page.NextCursor = fmt.Sprint(n.Load())
				return page, nil
			})
			a := f.request(t, "GET", catalogPath, nil)
			var got schemas.ARDManifest
			if err := json.Unmarshal([]byte(a.body), &got); a.status != 200 || err != nil {
				t.Fatalf("%d %v", a.status, err)
			}
			if len(got.Entries) < 2 || len(got.Entries) > 1001 || len(a.body) > 2<<20+1<<10 {
				t.Errorf("%d entries of %d bytes", len(got.Entries), len(a.body))
			}
		})
	}
}

func TestCatalogWithoutWorkers(t *testing.T) {
	t.Parallel()
	f := open(t, publishing(t))
	a := f.request(t, "GET", catalogPath, nil)
	if a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, `"errorCode":"UNAVAILABLE"`) ||
		a.header.Get("ETag") != "" {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
}

// Skills that are not published and absent ones have the same response.
func TestSkillFiles(t *testing.T) {
	t.Parallel()
	f := open(t, publishing(t))
	must(t, bus.GetRecord.Serve(f.service,
		func(_ context.Context, key schemas.RecordAt) (record schemas.RecordFound, err error) {
			if key.Kind != schemas.KindSkill || key.Scope != schemas.ScopeGlobal || key.TenantID != nil {
				t.Errorf("a skill file reads %+v", key)
			}
			if key.ID == "a.absent" {
				return record, schemas.ErrRecordNotFound.Because("no skill")
			}
			record.Record = jsontext.Value(fmt.Sprintf(`{"skill_id":%q,"public":%t,"purpose":"Do it"}`, key.ID,
				key.ID == "a.yes"))
			record.Token = schemas.ConsistencyToken{Catalog: "C", Revision: 7}
			return record, nil
		}))
	a := f.request(t, "GET", "/ard/skills/a.yes/SKILL.md", nil)
	if a.status != 200 || !strings.Contains(a.body, "Do it") || a.header.Get("ETag") != `"C-7"` ||
		a.header.Get("Content-Type") != "text/markdown; charset=utf-8" {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	if a := f.request(t, "GET", "/ard/skills/a.yes/SKILL.md", nil,
		`If-None-Match: "C-7"`); a.status != http.StatusNotModified {
		t.Errorf("If-None-Match: %d", a.status)
	}
	var answers []string
	for _, id := range []string{"a.secret", "a.absent"} {
		a := f.request(t, "GET", "/ard/skills/"+id+"/SKILL.md", nil)
		e := a.problem(t)
		answers = append(answers, fmt.Sprint(a.status, e.Code, e.Detail, a.header.Get("ETag"), a.header.Get("Cache-Control")))
	}
	if answers[0] != answers[1] || !strings.HasPrefix(answers[0], "404") {
		t.Errorf("distinguishable: %q", answers)
	}
}
