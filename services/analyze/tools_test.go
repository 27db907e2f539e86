package analyze

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"cairn/bus/admission"
	"cairn/services/internal/estate"
	"cairn/services/internal/model"
)

func pumps(t *testing.T) tools {
	t.Helper()
	e, err := estate.Parse([]byte(`{"pumps":[{"site":"a"},{"site":"b"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return tools{e, admission.NewLongPool()}
}

// TestMaxCalls: further calls of a message are not run, and return an error result.
func TestMaxCalls(t *testing.T) {
	t.Parallel()
	var calls []model.Call
	for i := range maxCalls + 2 {
		calls = append(calls, model.Call{Name: inspectSchema,
			Input: fmt.Appendf(nil, `{"data_key":"pumps"%s}`, strings.Repeat(" ", i))})
	}
	got, err := pumps(t).all(t.Context(), calls, maxResult)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range got {
		if notRun := strings.Contains(string(r.answer),
			`"error":"not run: a message may have at most 16 calls, got 18`); notRun != (i >= maxCalls) {
			t.Errorf("call %d of %d: %s", i+1, len(calls), r.answer)
		}
	}
}

func TestCallsEndWithContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{inspectSchema, computeStats} {
		got, err := pumps(t).all(ctx, []model.Call{{Name: name, Input: []byte(`{"data_key":"pumps"}`)}}, maxResult)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %+v, %v, want %v", name, got, err, context.Canceled)
		}
	}
}
