package estate_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/services/internal/estate"
	"cairn/services/internal/estate/estatetest"
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
	file, err := os.Open(filepath.Join(estatetest.Directory(t), "questions-dev.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // opened for reading
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	estates := map[string]*estate.Estate{}
	count := 0
	for lines.Scan() {
		var q question
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			t.Fatal(err)
		}
		if q.Type != "stats" {
			continue
		}
		if estates[q.Estate] == nil {
			if estates[q.Estate], err = estate.Parse(estatetest.Read(t, q.Estate)); err != nil {
				t.Fatal(err)
			}
		}
		count++
		answer(t, estates[q.Estate], q)
	}
	if err := lines.Err(); err != nil || count == 0 {
		t.Fatalf("%d questions, error %v", count, err)
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
	if sum := digest(t, counts); sum != want.GroupsSHA256 {
		t.Errorf("%s: checksum of the groups %s, want %s", q.ID, sum, want.GroupsSHA256)
	}
}

// digest returns the SHA-256 of the groups as compact JSON with sorted names.
func digest(t *testing.T, groups map[string]int) string {
	t.Helper()
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(groups); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(bytes.TrimSpace(text.Bytes()))
	return hex.EncodeToString(sum[:])
}
