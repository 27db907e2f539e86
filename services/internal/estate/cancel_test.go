package estate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"cairn/services/internal/estate"
)

// ending is a context that ends once somebody has looked at it so many times.
type ending struct {
	context.Context
	looks, most int
}

func (e *ending) Err() error {
	if e.looks++; e.looks > e.most {
		return context.Canceled
	}
	return nil
}

// Wherever a computation is when its context ends, it stops, and leaves nothing
// half done behind.
func TestStatsEndsWithItsContext(t *testing.T) {
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
	// Looking between the steps alone would be seven looks.
	for most := 0; ; most += 1 + most/4 {
		if _, err := e.Stats(&ending{t.Context(), 0, most}, q); err == nil {
			if most < 8 {
				t.Errorf("a computation on %d records looked %d times whether it was wanted", len(records), most)
			}
			break
		} else if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if got, err := e.Stats(t.Context(), q); err != nil || got.Total != want.Total || fmt.Sprint(got.Groups) != fmt.Sprint(want.Groups) {
		t.Errorf("got %v, %v after others were ended, want %v", got.Groups, err, want.Groups)
	}
	var unknown *estate.UnknownKeyError
	if _, err := e.Stats(t.Context(), estate.Query{DataKey: "s"}); !errors.As(err, &unknown) {
		t.Errorf("got %v, want an unknown key", err)
	}
}
