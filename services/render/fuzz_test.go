package render_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/render"
)

// FuzzRendering checks that errors are the caller's, and that the text is valid and in
// proportion to the request.
func FuzzRendering(f *testing.F) {
	for _, seed := range [][4]string{
		{bySite, sites, `{"format":"plain","language":"de"}`, "Two sites:\n- fra1: 1,600\n- lon1: 9"},
		{`{"data_key":"a","group_by":"b|*","metrics":["count","avg:x","avg:x"],"filter":{"a":{"in":[1,"\n"]},"b":null}}`,
			`{"groups":{"|":1e308,"\n\t":-1e308,"":null},"total":null,"metrics":{"avg:x":{"groups":{"|":0.1},"total":1e-300}},"group_count":-5}`,
			`{"language":"x-\u0000"}`, "- : \n- a"},
		{`null`, `{"groups":[],"metrics":7}`, `[]`, "\xff"}, {`{"a":1,"a":2}`, `{"groups":{"a":1,"a":2}}`, `{`, "<b>"},
		{`{"data_key":"h","group_by":["a","|",""],"metrics":["max:t","sum:x"],"having":{"count":{"gt":1}},` +
			`"filter":{"h":{"in":{"filter":{"a":{"in":{}}}}}}}`,
			`{"groups":{},"total":"\u202e","unit":"|","rows":[{"by":["x"],"value":"\n"},` +
				`{"by":["1","2","3","4"],"value":1,"metrics":{"sum:x":null}}],"metrics":{"max:t":{"groups":{"x":"2026"},"total":"<b>"}}}`,
			`{"language":"ar"}`, "- x, 1: 2"},
		{`{"data_key":"h","names":{"field":"|"},"top":{"by":"\n"}}`,
			`{"names":[{"name":"a","value":-1},{"name":"","value":""},{"name":"|","value":"*"}],` +
				`"more_names":9223372036854775807}`,
			`{"format":"plain"}`, "- a\n- : "},
		{`{"metrics":[""]}`, `{"groups":{"a":0,"b":-0.0},"group_count":9223372036854775807}`, `{"format":7}`, ""},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]), []byte(seed[2]), seed[3])
	}
	conn := bustest.Open(f)
	if err := render.Serve(bustest.Fragile(f, conn, "render")); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, input, result, profile []byte, answer string) {
		answerJSON, err := jsontext.AppendQuote(nil, answer)
		if err != nil {
			return // not UTF-8
		}
		for _, body := range [][]byte{input, fmt.Appendf(nil,
			`{"query":"q","mode":"standard","answer":%s,"tool_uses":[{"tool_call_id":"1","name":"compute_stats","input":%s}],"tool_results":[%s],"profile":%s}`, answerJSON, input, result, profile)} {
			var text strings.Builder
			for event, err := range bus.Render.Forward(t.Context(), conn, body) {
				var delta schemas.TextDelta
				if err != nil && !errors.Is(err, schemas.ErrMalformed) || err == nil && json.Unmarshal(event.Data, &delta) != nil {
					t.Errorf("%s: %s, %v", body, event.Data, err)
				}
				text.WriteString(delta.Text)
			}
			if text.Len() > 40*len(body)+64<<10 {
				t.Errorf("%s is %d bytes", body, text.Len())
			}
		}
	})
}
