package estate_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/services/internal/estate"
)

type question struct {
	ID     string
	Type   string
	Estate string
	estate.Query
	Expected json.RawMessage
}

type expected struct {
	Error        bool               `json:"error"`
	Groups       map[string]float64 `json:"groups"`
	Total        float64            `json:"total"`
	Null         float64            `json:"null"`
	Missing      float64            `json:"missing"`
	GroupCount   int                `json:"group_count"`
	GroupsSHA256 string             `json:"groups_sha256"`
	GroupsTop5   map[string]float64 `json:"groups_top5"`
}

func TestStatsQuestions(t *testing.T) {
	t.Parallel()
	estates := map[string]*estate.Estate{}
	for _, q := range readQuestions[question](t, "questions-dev.jsonl") {
		if q.Type != "stats" {
			continue
		}
		if estates[q.Estate] == nil {
			estates[q.Estate] = parse(t, string(readEval(t, q.Estate+".json")))
		}
		answer(t, estates[q.Estate], q)
	}
	if len(estates) == 0 {
		t.Error("no questions")
	}
}

func answer(t *testing.T, e *estate.Estate, q question) {
	t.Helper()
	var want expected
	if err := json.Unmarshal(q.Expected, &want); err != nil {
		t.Fatal(err)
	}
	got, err := e.Stats(t.Context(), q.Query)
	if unknown := new(estate.UnknownKeyError); want.Error || err != nil {
		if errors.As(err, &unknown) != want.Error {
			t.Errorf("%s: error %v, want one: %v", q.ID, err, want.Error)
		}
		return
	}
	if float64(got.Total) != want.Total {
		t.Errorf("%s: total %v, want %v", q.ID, got.Total, want.Total)
	}
	groups := map[string]float64{}
	for _, g := range got.Groups {
		groups[g.Key] = float64(g.Value)
	}
	if want.GroupsSHA256 != "" {
		if len(got.Groups) > estate.MaxGroups || got.Truncated != (want.GroupCount > estate.MaxGroups) {
			t.Errorf("%s: %d groups, truncated %v", q.ID, len(got.Groups), got.Truncated)
		}
		answerDigest(t, e, q, want)
		return
	}
	if missing := want.Null + want.Missing; missing > 0 {
		want.Groups["null"] += missing
	}
	if diff := cmp.Diff(want.Groups, groups); diff != "" {
		t.Errorf("%s: groups (-want +got):\n%s", q.ID, diff)
	}
}

// answerDigest checks a truncated result: the number of groups, the largest ones, and the
// checksum of all.
func answerDigest(t *testing.T, e *estate.Estate, q question, want expected) {
	t.Helper()
	got, err := e.StatsUpTo(t.Context(), q.Query, want.GroupCount+1)
	if err != nil {
		t.Fatal(err)
	}
	counts, top := map[string]int{}, map[string]float64{}
	for _, g := range got.Groups {
		if g.Key == estate.NullGroup {
			continue
		}
		counts[g.Key] = int(g.Value)
		if len(top) < len(want.GroupsTop5) {
			top[g.Key] = float64(g.Value)
		}
	}
	if got.GroupCount != want.GroupCount {
		t.Errorf("%s: %d groups, want %d", q.ID, got.GroupCount, want.GroupCount)
	}
	if diff := cmp.Diff(want.GroupsTop5, top); diff != "" {
		t.Errorf("%s: largest groups (-want +got):\n%s", q.ID, diff)
	}
	// of compact JSON with sorted names
	if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(encode(t, counts)))); sum != want.GroupsSHA256 {
		t.Errorf("%s: checksum of the groups %s, want %s", q.ID, sum, want.GroupsSHA256)
	}
}

// readQuestions decodes the lines of a file of questions.
func readQuestions[T any](t testing.TB, name string) (questions []T) {
	t.Helper()
	for line := range bytes.Lines(readEval(t, name)) {
		var q T
		if err := json.Unmarshal(line, &q); err != nil {
			t.Fatal(err)
		}
		questions = append(questions, q)
	}
	return questions
}

// readEval returns the content of a file in the folder estates of the directory CAIRN_EVAL, which is stored as name
// or name.gz. It skips the test if the variable is not set.
func readEval(t testing.TB, name string) []byte {
	t.Helper()
	directory := os.Getenv("CAIRN_EVAL")
	if directory == "" {
		t.Skip("CAIRN_EVAL does not name a directory of evaluation data")
	}
	path := filepath.Join(directory, "estates", name)
	if text, err := os.ReadFile(path); err == nil {
		return text
	}
	file, err := os.Open(path + ".gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unzipped)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
