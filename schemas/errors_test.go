package schemas_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"cairn/schemas"
)

func TestErrorIs(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("write: %w", schemas.ErrTagExists.Because("since noon"))
	if !errors.Is(err, schemas.ErrTagExists) || errors.Is(err, schemas.ErrTagNotFound) {
		t.Errorf("errors.Is(%v) does not distinguish codes", err)
	}
	if schemas.ErrTagExists.Detail != "" {
		t.Error("Because modified the declared error")
	}
}

func TestErrorBody(t *testing.T) {
	t.Parallel()
	e := schemas.ErrMalformed.With(schemas.FieldError{Field: "top_k", Message: "expected an integer"})
	got, err := json.Marshal(e)
	want := `{"type":"/docs#CE-001","title":"malformed request","status":400,"detail":"top_k: expected an integer","code":"CE-001",` +
		`"errors":[{"field":"top_k","message":"expected an integer"}]}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
}

func TestErrorAnalysis(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ in, want *schemas.Error }{
		{schemas.ErrMalformed, schemas.ErrAnalysisMalformed},
		{schemas.ErrTooLarge, schemas.ErrAnalysisTooLarge},
		{schemas.ErrTooManyRequests, schemas.ErrAnalysisTooManyRequests},
		{schemas.ErrInternal, schemas.ErrAnalysisInternal},
		{schemas.ErrUnavailable, schemas.ErrAnalysisUnavailable},
		{schemas.ErrTimeout, schemas.ErrAnalysisTimeout},
		{schemas.ErrAnalysisTimeout, schemas.ErrAnalysisTimeout},
		{schemas.ErrMethodNotAllowed, schemas.ErrMethodNotAllowed},
	} {
		got := row.in.Because("so").Analysis()
		if !errors.Is(got, row.want) || got.Detail != "so" {
			t.Errorf("%v: got %v, want %v", row.in, got, row.want)
		}
	}
}

// Details and fields are truncated, and remain valid UTF-8.
func TestErrorTruncation(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\xff€", 100_000)
	fields := slices.Repeat([]schemas.FieldError{{Field: long, Message: long}}, 5000)
	body, err := json.Marshal(schemas.ErrMalformed.With(fields...))
	if err != nil || len(body) > 32<<10 || !bytes.Contains(body, []byte("€")) {
		t.Errorf("%d bytes, %v", len(body), err)
	}
}

func TestDetail(t *testing.T) {
	t.Parallel()
	field, other := schemas.FieldError{Field: "f", Message: "m"}, schemas.FieldError{Field: "g", Message: "n"}
	for _, c := range []struct {
		name string
		err  *schemas.Error
		want string
	}{
		{"one field", schemas.ErrMalformed.With(field), "f: m"},
		{"two fields", schemas.ErrMalformed.With(field, other), "f: m (and 1 more field)"},
		{"three fields", schemas.ErrMalformed.With(field, other, other), "f: m (and 2 more fields)"},
		{"fields added later", schemas.ErrMalformed.With(field).With(other, other), "f: m (and 2 more fields)"},
		{"no field", schemas.ErrMalformed.With(), ""},
		{"a detail before the fields", schemas.ErrMalformed.Because("so").With(field), "so"},
		{"a forbidden field", schemas.ErrForbidden.With(field), "f: m"},
		{"converted to the analysis contract", schemas.ErrMalformed.With(field).Analysis(), "f: m"},
		{"invalid UTF-8", schemas.ErrMalformed.Because("a\xff"), "a\uFFFD"},
		{"a long detail", schemas.ErrMalformed.Because(strings.Repeat("€", 100_000)), strings.Repeat("€", 1000) + "…"},
	} {
		if c.err.Detail != c.want {
			t.Errorf("%s: %.80q, want %.80q", c.name, c.err.Detail, c.want)
		}
	}
}
