package index_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// stub is a fake Elasticsearch for faults that cannot be provoked in a real one.
// It stores only names of indices.
type stub struct {
	URL      string
	bulk     atomic.Pointer[http.HandlerFunc]
	search   atomic.Pointer[http.HandlerFunc]
	received atomic.Int64 // requests received

	mu      sync.Mutex
	indices map[string]map[string]struct{} // their aliases
	made    int
}

func newStub(t testing.TB) *stub {
	s := &stub{indices: map[string]map[string]struct{}{}}
	s.onBulk(func(w http.ResponseWriter, r *http.Request) { answerItems(w, r, nil) })
	s.onSearch(func(w http.ResponseWriter, r *http.Request) { answerSearches(w, r) })
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

func (s *stub) onBulk(h http.HandlerFunc)   { s.bulk.Store(&h) }
func (s *stub) onSearch(h http.HandlerFunc) { s.search.Store(&h) }

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.received.Add(1)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Path == "/_bulk":
		(*s.bulk.Load())(w, r)
	case strings.HasSuffix(r.URL.Path, "/_msearch"):
		(*s.search.Load())(w, r)
	case strings.HasPrefix(r.URL.Path, "/_cluster/health"):
		fmt.Fprint(w, `{"status":"green"}`)
	default:
		s.administer(w, r)
	}
}

func (s *stub) administer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch name := strings.TrimPrefix(r.URL.Path, "/"); {
	case r.Method == http.MethodPut:
		s.made++
		s.indices[name] = map[string]struct{}{name + "-put": {}}
		fmt.Fprint(w, `{}`)
	case name == "_aliases":
		for index, aliases := range s.indices {
			kind := strings.Split(index, "-")[1]
			aliases["cairn-"+kind] = struct{}{}
		}
		fmt.Fprint(w, `{}`)
	default:
		listed := map[string]any{}
		for index, aliases := range s.indices {
			listed[index] = map[string]any{
				"aliases":  aliases,
				"settings": map[string]any{"index": map[string]any{"uuid": fmt.Sprint(s.made)}},
			}
		}
		_ = json.NewEncoder(w).Encode(listed)
	}
}

// live returns the name of the live index of the kind.
func (s *stub) live(kind string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.indices {
		if strings.Contains(name, "-"+kind+"-") {
			return name
		}
	}
	return ""
}

// lose drops all indices.
func (s *stub) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.indices)
}

// remove removes the index of a kind.
func (s *stub) remove(kind string) {
	name := s.live(kind)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.indices, name)
}

// answerItems answers a bulk request, the operation at i with status[i], or 201. It
// returns the number of operations.
func answerItems(w http.ResponseWriter, r *http.Request, status map[int]int) int {
	var items []string
	for i := range lines(r) / 2 {
		code, problem := http.StatusCreated, ""
		if s, ok := status[i]; ok {
			code, problem = s, `,"error":{"type":"some_exception","reason":"for a reason"}`
		}
		items = append(items, fmt.Sprintf(`{"index":{"status":%d%s}}`, code, problem))
	}
	fmt.Fprintf(w, `{"items":[%s]}`, strings.Join(items, ","))
	return len(items)
}

// answerSearches answers each search of a request without hits.
func answerSearches(w http.ResponseWriter, r *http.Request) {
	answers := make([]string, lines(r)/2)
	for i := range answers {
		answers[i] = `{"status":200,"hits":{"hits":[]}}`
	}
	fmt.Fprintf(w, `{"responses":[%s]}`, strings.Join(answers, ","))
}

func lines(r *http.Request) int {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return 0
	}
	return strings.Count(string(body), "\n")
}
