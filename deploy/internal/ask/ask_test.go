package ask

import (
	"strings"
	"testing"
)

func TestAskReadsTheEstate(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, text, want, fault string }{
		{"as it is", `{"a":[]}`, `{"a":[]}`, ""},
		{"without the mark of an editor", "\uFEFF{}", "{}", ""},
		{"nothing", "", "", "--estate -: empty; want JSON"},
		{"what is no text", "{\"a\":\"\xff\"}", "", "--estate -: invalid UTF-8; want JSON"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := (&ask{estate: "-"}).read(strings.NewReader(row.text))
			fault := ""
			if err != nil {
				fault = err.Error()
			}
			if string(got) != row.want || fault != row.fault {
				t.Errorf("got %q, %q; want %q, %q", got, fault, row.want, row.fault)
			}
		})
	}
}
