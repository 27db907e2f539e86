package analyze

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/services/internal/model"
)

// resultsOf returns the results of calls of compute_stats over hosts.
func resultsOf(t *testing.T, inputs ...string) []result {
	t.Helper()
	var calls []model.Call
	for i, input := range inputs {
		calls = append(calls, model.Call{ID: string(rune('a' + i)), Name: computeStats, Input: []byte(input)})
	}
	results, err := hostTools(t).all(t.Context(), calls, maxResult)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// TestCheckedText feeds each text in one piece and byte by byte. The results are 3 of 5 hosts with linux, and the
// average of 9.3333 cpus.
func TestCheckedText(t *testing.T) {
	t.Parallel()
	results := resultsOf(t, `{"data_key":"hosts","filter":{"os":"linux"}}`,
		`{"data_key":"hosts","filter":{"os":"linux"},"metrics":["avg:cpus"]}`)
	for _, row := range []struct {
		name, text  string
		want        []string // sentences that are sent
		unsupported string
	}{
		{"a supported sentence", "3 of 5 hosts run linux.", []string{"3 of 5 hosts run linux."}, ""},
		{"several sentences", "There are 5 hosts. 3 run linux! Is that all? Yes.",
			[]string{"There are 5 hosts. ", "3 run linux! ", "Is that all? ", "Yes."}, ""},
		{"no figures", "Most of them run linux.", []string{"Most of them run linux."}, ""},
		{"nothing", "", nil, ""},
		{"white space at the beginning", " \n\n3 hosts.", []string{"3 hosts."}, ""},
		{"a figure of the question", "Of 77 racks none is asked about.", []string{"Of 77 racks none is asked about."}, ""},
		{"a percentage of two results", "60% run linux, that is 60 percent.", []string{"60% run linux, that is 60 percent."},
			""},
		{"a rounded decimal", "They have 9.3 cpus. That is 9.33.", []string{"They have 9.3 cpus. ", "That is 9.33."}, ""},
		{"a decimal comma", "Es sind 9,33 Kerne.", []string{"Es sind 9,33 Kerne."}, ""},
		{"a figure before the end of a sentence", "The average is 9.3333. It is high.",
			[]string{"The average is 9.3333. ", "It is high."}, ""},
		{"an abbreviation within a sentence", "Some, e.g. 3 of 5, run linux.", []string{"Some, e.g. ", "3 of 5, run linux."},
			""},
		{"names with numbers", "The host web-1 at 10.0.0.1 runs v1.2 since 2024-05-01.",
			[]string{"The host web-1 at 10.0.0.1 runs v1.2 since 2024-05-01."}, ""},
		{"a sentence in quotes", `He said "3 hosts." Then 5.`, []string{`He said "3 hosts." `, "Then 5."}, ""},
		{"bold text", "**3 hosts.** They run linux.", []string{"**3 hosts.** ", "They run linux."}, ""},
		{"lines", "Hosts: 5\nLinux: 3\n", []string{"Hosts: 5\n", "Linux: 3\n"}, ""},
		{"a list", "Hosts:\n\n- linux: 3\n- all: 5", []string{"Hosts:\n", "\n", "- linux: 3\n", "- all: 5"}, ""},
		{"a numbered list", "Hosts:\n1. linux\n2. others", []string{"Hosts:\n", "1. ", "linux\n", "2. ", "others"}, ""},

		{"an unsupported figure", "There are 17 hosts.", nil, "17"},
		{"an unsupported figure in a later sentence", "There are 5 hosts. 17 run linux. 3 do not.",
			[]string{"There are 5 hosts. "}, "17"},
		{"an unsupported percentage", "That is 61%.", nil, "61%"},
		{"a wrong decimal", "They have 9.4 cpus.", nil, "9.4"},
		{"an unsupported figure in the last sentence, without an end", "5 hosts.\n12 racks", []string{"5 hosts.\n"}, "12"},
		{"an unsupported figure in a list", "- linux: 3\n- windows: 8\n", []string{"- linux: 3\n"}, "8"},
		{"a figure glued to a unit", "They have 40GB.", nil, "40GB"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			for feed, pieces := range map[string][]string{"in one piece": {row.text},
				"byte by byte": strings.Split(row.text, "")} {
				var sent []string
				c := checkedText{ctx: t.Context(), tracer: newTracer("which of 77 racks?", results),
					send: func(text string) error { sent = append(sent, text); return nil }}
				var err error
				for _, piece := range pieces {
					if err = c.add(piece); err != nil {
						break
					}
				}
				if err == nil {
					err = c.rest()
				}
				var figure unsupportedError
				if errors.As(err, &figure); string(figure) != row.unsupported || (err != nil) != (row.unsupported != "") {
					t.Errorf("%s: got the error %v, want one of the figure %q", feed, err, row.unsupported)
				}
				if diff := cmp.Diff(row.want, sent); diff != "" {
					t.Errorf("%s: sent (-want +got):\n%s", feed, diff)
				}
				if c.sent.String() != strings.Join(row.want, "") {
					t.Errorf("%s: recorded %q", feed, c.sent.String())
				}
			}
		})
	}
}

// TestCheckedTextIsStreamed: a sentence is sent when it is complete.
func TestCheckedTextIsStreamed(t *testing.T) {
	t.Parallel()
	sent := ""
	c := checkedText{ctx: t.Context(), tracer: newTracer("", resultsOf(t, `{"data_key":"hosts"}`)),
		send: func(text string) error { sent += text; return nil }}
	for _, row := range []struct{ piece, want string }{
		{"There are 5", ""}, {" hosts.", ""}, {" ", "There are 5 hosts. "}, {"All", "There are 5 hosts. "},
		{"\n", "There are 5 hosts. All\n"},
	} {
		if err := c.add(row.piece); err != nil || sent != row.want {
			t.Errorf("after %q: sent %q, %v, want %q", row.piece, sent, err, row.want)
		}
	}
}

// TestCheckedTextStopsOnErrors: an error of the caller ends the text.
func TestCheckedTextStopsOnErrors(t *testing.T) {
	t.Parallel()
	gone := errors.New("disconnected")
	c := checkedText{ctx: t.Context(), tracer: newTracer("", nil), send: func(string) error { return gone }}
	if err := c.add("Yes. "); !errors.Is(err, gone) {
		t.Errorf("got %v, want %v", err, gone)
	}
}
