package estate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"cairn/services/internal/estate"
)

// expiring is a context that is canceled after max calls of Err.
type expiring struct {
	context.Context
	calls, max int
}

func (e *expiring) Err() error {
	if e.calls++; e.calls > e.max {
		return context.Canceled
	}
	return nil
}

// TestStatsCancellation cancels a computation at each check of its context. It must stop,
// and the next one must return complete figures.
func TestStatsCancellation(t *testing.T) {
	t.Parallel()
	var records []string
	for i := range 40_000 {
		records = append(records, fmt.Sprintf(`{"a":%d,"b":"x%d"}`, i, i%7))
	}
	text := `{"r":[` + strings.Join(records, ",") + `]}`
	q := query(t, `{"data_key":"r","group_by":"b","filter":{"a":{"gte":0}},"metrics":["sum:a","distinct:b","max:a","p50:a"]}`)
	want, err := parse(t, text).Stats(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	e := parse(t, text)
	// Checks between the steps alone would be seven.
	for n := 0; ; n += 1 + n/4 {
		if _, err := e.Stats(&expiring{t.Context(), 0, n}, q); err == nil {
			if n < 8 {
				t.Errorf("a computation on %d records checked its context %d times, want at least 8", len(records), n)
			}
			break
		} else if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if got, err := e.Stats(t.Context(), q); err != nil || got.Total != want.Total ||
		fmt.Sprint(got.Groups) != fmt.Sprint(want.Groups) {
		t.Errorf("got %v, %v after canceled computations, want %v", got.Groups, err, want.Groups)
	}
	var unknown *estate.UnknownKeyError
	if _, err := e.Stats(t.Context(), estate.Query{DataKey: "s"}); !errors.As(err, &unknown) {
		t.Errorf("got %v, want an unknown key", err)
	}
}
