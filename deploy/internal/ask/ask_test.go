package ask

import (
	"strings"
	"testing"
)

func TestAskReadsTheEstate(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, text, want, fault string }{
		{"valid JSON", `{"a":[]}`, `{"a":[]}`, ""},
		{"a byte order mark is removed", "\uFEFF{}", "{}", ""},
		{"nothing", "", "", "--estate -: empty; expected JSON"},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", "", "--estate -: invalid UTF-8; expected JSON"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := readEstates(t.Context(), []string{"-"}, strings.NewReader(row.text))
			fault := ""
			if err != nil {
				fault = err.Error()
			}
			if got != row.want || fault != row.fault {
				t.Errorf("got %q, %q; want %q, %q", got, fault, row.want, row.fault)
			}
		})
	}
}
