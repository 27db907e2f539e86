package analyze_test

import (
	"errors"
	"strings"
	"testing"

	"cairn/bus"
	"cairn/schemas"
	"cairn/services/internal/model/offline"
)

// TestFormsOfAnEstate sends the estate as a string and as a value.
func TestFormsOfAnEstate(t *testing.T) {
	t.Parallel()
	conn := serving(t, offline.New())
	for _, row := range []struct{ name, estate, want string }{
		{"a string", `"{\"hosts\":[{\"a\":\"\u00e9\\n\"},{\"a\":1}]}"`, "2 hosts"},
		{"an object", ` {"hosts" : [{"a":"\u00e9\n"}, {"a":1}]} `, "2 hosts"},
		{"an array", `[{"a":1}, {"a":2}, {"a":3}]`, "3"},
		{"an empty object", `{}`, "no arrays"},
		{"a string that is not JSON", `"hosts"`, "AN-500 context: "},
		{"an object with a name twice", `{"hosts":[{"a":1,"a":2}]}`, "1 host"},
		{"an empty string", `""`, "AN-400 context: required"},
		{"null", `null`, "AN-400 context: required"},
		{"a number", `7`, "AN-400 context: expected a string"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			body := []byte(`{"query":"how many hosts are there?","target":"H","context":` + row.estate + `}`)
			for event, err := range bus.Analyze.Forward(t.Context(), conn, body) {
				if e, ok := errors.AsType[*schemas.Error](err); ok {
					got += e.Code + " " + strings.TrimPrefix(e.Message(), e.Title+": ")
				}
				got += string(event.Data)
			}
			if !strings.Contains(got, row.want) {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}
