package ask

import (
	"strings"
	"testing"
	"unicode/utf16"
)

// inUTF16 returns a text in UTF-16 in big-endian order, or with little in little-endian order.
func inUTF16(text string, little bool) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(text)) {
		first, second := byte(unit>>8), byte(unit)
		if little {
			first, second = second, first
		}
		b.Write([]byte{first, second})
	}
	return b.String()
}

func TestAskReadsTheEstate(t *testing.T) {
	t.Parallel()
	const fault16 = "--estate -: UTF-16; expected UTF-8"
	for _, row := range []struct{ name, text, want, fault string }{
		{"valid JSON", `{"a":[]}`, `{"a":[]}`, ""},
		{"JSON Lines", "{\"a\":1}\n{\"a\":2}\n", "{\"a\":1}\n{\"a\":2}\n", ""},
		{"a byte order mark is removed", "\uFEFF{}", "{}", ""},
		{"nothing", "", "", "--estate -: empty; expected JSON"},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", "", "--estate -: invalid UTF-8; expected JSON"},
		{"UTF-16 in little-endian order", inUTF16("\uFEFF{}", true), "", fault16},
		{"UTF-16 in big-endian order", inUTF16("\uFEFF{}", false), "", fault16},
		{"UTF-16 without a byte order mark", inUTF16("{}", true), "", fault16},
		{"UTF-16 in big-endian order without a byte order mark", inUTF16("[]", false), "", fault16},
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
