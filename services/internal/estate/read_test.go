package estate_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/services/internal/estate"
)

// TestReadEqualsParse: the result does not depend on when fields are read.
func TestReadEqualsParse(t *testing.T) {
	t.Parallel()
	records := `[` + strings.Repeat(`{"a":1,"b":{"c":"x","d":[true]}},`, 20_000) + `{"a.b":null,"a":"y"}]`
	var arrays, names strings.Builder
	for i := range 300 {
		fmt.Fprintf(&arrays, `,"k%d":[{"a":%d}]`, i, i)
		fmt.Fprintf(&names, `,"n%d":%d`, i, i)
	}
	for name, text := range map[string]string{
		"one array":                        `{"x":` + records + `}`,
		"a bare array":                     records,
		"a duplicate array":                `{"x":` + records + `,"y":[1],"x":[{"z":2}]}`,
		"more arrays than the queue holds": `{"x":` + records + arrays.String() + `}`,
		"fields beyond the bound":          `{"x":[{"a":1` + names.String() + `}],"y":` + records + arrays.String() + `}`,
		"a duplicate field":                `{"x":[{"a":1,"a":2}],"y":` + records + `}`,
		"invalid UTF-8":                    "{\"x\":" + records + ",\"y\":[{\"\xff\":\"\xfe\"}]}",
		"invalid JSON at the end":          `{"x":` + records + `,"y":[1}`,
		"no array":                         `{"x":"` + strings.Repeat("a", 1<<20) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, wantErr := estate.Parse([]byte(text))
			got, err := estate.Read(t.Context(), []byte(text))
			var syntax *estate.SyntaxError
			if errors.As(wantErr, &syntax) {
				if !cmp.Equal(err, wantErr) {
					t.Errorf("error %v, want %v", err, wantErr)
				}
				return
			}
			if err != nil || !cmp.Equal(got.Keys(), want.Keys()) || got.Size() != want.Size() {
				t.Fatalf("error %v, arrays %q, want %q", err, got.Keys(), want.Keys())
			}
			for _, key := range want.Keys() {
				if diff := cmp.Diff(want.Fields(key), got.Fields(key)); diff != "" {
					t.Errorf("fields of %s (-want +got):\n%s", key, diff)
				}
				q := estate.Query{DataKey: key, GroupBy: estate.GroupBy{"a"}}
				wantStats, _ := want.Stats(t.Context(), q) // compared below
				gotStats, err := got.Stats(t.Context(), q)
				if diff := cmp.Diff(wantStats, gotStats); err != nil || diff != "" {
					t.Errorf("figures of %s, error %v (-want +got):\n%s", key, err, diff)
				}
			}
		})
	}
}
