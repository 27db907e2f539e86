package access

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"time"
)

// sparing asks a server again only after a while. Until then its last answer is
// given again, whatever it was: a token is easily forged, and each one with a
// key that is not known would lead to a question. It is for questions that are
// told apart by their URL alone.
type sparing struct {
	client *http.Client // follows redirects and bounds the time
	every  time.Duration

	mu     sync.Mutex
	url    string
	asked  time.Time
	answer http.Response // without its body
	body   []byte
	err    error
}

// RoundTrip implements http.RoundTripper. Questions at one time share one answer.
func (s *sparing) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if url := r.URL.String(); url != s.url || time.Since(s.asked) >= s.every {
		s.err = s.ask(r)
		s.url, s.asked = url, time.Now()
	}
	if s.err != nil {
		return nil, s.err
	}
	answer := s.answer
	answer.Header, answer.Body, answer.Request = s.answer.Header.Clone(), io.NopCloser(bytes.NewReader(s.body)), r
	return &answer, nil
}

func (s *sparing) ask(r *http.Request) error {
	res, err := s.client.Do(r.Clone(r.Context()))
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // what was read is all that matters
	s.body, err = io.ReadAll(res.Body)
	s.answer = *res
	return err
}
