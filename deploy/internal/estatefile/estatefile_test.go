package estatefile

import (
	"io"
	"net/http"
	"net/http/httptest"
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

func TestRead(t *testing.T) {
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
			got, err := ReadAll(t.Context(), []string{"-"}, strings.NewReader(row.text))
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

func TestReadAll(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"/a": `{"hosts":[{"name":"a"}],"site":"oslo"}`, "/b": `{"hosts":[{"name":"b"}],"site":"oslo","nets":[]}`,
		"/scalar": `{"site":"bergen"}`, "/text": `"a"`, "/csv": "name,site\nx,y\n", "/numbers": "1\n2\n",
		"/array": `[{"n":1}]`, "/lines": "{\"n\":2}\n{\"n\":3}\n", "/items": `{"items":[{"n":4}]}`,
		"/large": `{"a":"` + strings.Repeat("x", maxEstate) + `"}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, _, _ := r.BasicAuth(); files[r.URL.Path] == "" || r.Header.Get("Authorization") != "" && user != "user" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, files[r.URL.Path]) // fails for one that is too large
	}))
	t.Cleanup(server.Close)
	for _, row := range []struct{ name, sources, want, fault string }{
		{"one is unchanged", "/a", files["/a"], ""},
		{"arrays are joined", "/a /b", `{"hosts":[{"name":"a"},{"name":"b"}],"nets":[],"site":"oslo"}`, ""},
		{"an array on stdin", "/b -", `{"hosts":[{"name":"b"},{"name":"c"}],"nets":[],"site":"oslo"}`, ""},
		{"other values differ", "/a /scalar", "", `"site": another estate has a different value`},
		{"an array and JSON Lines are items", "/array /lines /items", `{"items":[{"n":1},{"n":2},{"n":3},{"n":4}]}`, ""},
		{"JSON Lines alone are unchanged", "/lines", files["/lines"], ""},
		{"a text", "/a /text", "", "expected a JSON object"},
		{"CSV", "/a /csv", "", "expected a JSON object"},
		{"numbers", "/a /numbers", "", "expected a JSON object"},
		{"too large", "/large", "", "expected at most 10485760 bytes"},
		{"an absent page", "/none", "", "responded with 404 Not Found; expected 200"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var sources []string
			for _, s := range strings.Fields(row.sources) {
				if s != "-" {
					s = server.URL + s
				}
				sources = append(sources, s)
			}
			got, err := ReadAll(t.Context(), sources, strings.NewReader(`{"hosts":[{"name":"c"}]}`))
			if got != row.want || row.fault == "" && err != nil ||
				row.fault != "" && (err == nil || !strings.Contains(err.Error(), row.fault)) {
				t.Errorf("got %.200q, %v; want %q, %q", got, err, row.want, row.fault)
			}
		})
	}
	_, err := ReadAll(t.Context(), []string{"http://user:secret@127.0.0.1:1/x"}, nil)
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v, want an error without the password", err)
	}
}
