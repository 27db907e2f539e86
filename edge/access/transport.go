package access

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"time"
)

// cachingTransport repeats a request to a server at most once per interval and
// returns the cached response, or error, in between. Otherwise each forged token with an
// unknown key id would cause a request to the provider.
// It is for requests that differ only in their URL.
type cachingTransport struct {
	client   *http.Client // follows redirects and has a timeout
	interval time.Duration

	mu      sync.Mutex
	url     string
	fetched time.Time
	answer  http.Response // without its body
	body    []byte
	err     error
}

// RoundTrip implements http.RoundTripper. Concurrent requests share one response.
func (s *cachingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if url := r.URL.String(); url != s.url || time.Since(s.fetched) >= s.interval {
		s.err = s.fetch(r)
		s.url, s.fetched = url, time.Now()
	}
	if s.err != nil {
		return nil, s.err
	}
	answer := s.answer
	answer.Header, answer.Body, answer.Request = s.answer.Header.Clone(), io.NopCloser(bytes.NewReader(s.body)), r
	return &answer, nil
}

func (s *cachingTransport) fetch(r *http.Request) error {
	res, err := s.client.Do(r.Clone(r.Context()))
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // the body is read or the read error is returned
	s.body, err = io.ReadAll(res.Body)
	s.answer = *res
	return err
}
