package edge_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"cairn/bus"
	"cairn/schemas"
)

// bodyOf returns a JSON body of exactly size bytes: before, padding and after.
func bodyOf(size int, before, after string) string {
	return before + strings.Repeat("x", size-len(before)-len(after)) + after
}

// unsized hides the length of a reader, so that the body is sent with chunked encoding.
type unsized struct{ io.Reader }

func TestBodyLimits(t *testing.T) {
	t.Parallel()
	f := open(t)
	var size int
	must(t,
		bus.WriteTag.Serve(f.service, func(_ context.Context, w schemas.TagWrite) (schemas.TagWritten, error) {
			size = len(w.Tags["x"])
			return schemas.TagWritten{}, nil
		}),
		bus.Analyze.Serve(f.service, func(_ context.Context, a schemas.Analysis, _ bus.Sender) error {
			size = len(a.Context)
			return nil
		}))
	tag := func(n int) string { return bodyOf(n, `{"request_id":"r","tags":{"x":"`, `"}}`) }
	analysis := func(n int) string { return bodyOf(n, `{"query":"q","target":"H","context":"`, `"}`) }
	for _, c := range []struct {
		name, path, body string
		chunked          bool
		status           int
		code             string
	}{
		{"a tag of 1 MiB", "/tags/write", tag(1 << 20), false, 201, ""},
		{"a tag of 1 MiB in chunks", "/tags/write", tag(1 << 20), true, 201, ""},
		{"a tag of 1 MiB and a byte", "/tags/write", tag(1<<20 + 1), false, 413, "CE-002"},
		{"a tag of 1 MiB and a byte in chunks", "/tags/write", tag(1<<20 + 1), true, 413, "CE-002"},
		{"a tag of 20 MiB", "/tags/write", tag(20 << 20), false, 413, "CE-002"},
		{"an analysis of 10 MiB", "/api/v1/analyze", analysis(10_485_760), false, 200, ""},
		{"an analysis of 10 MiB in chunks", "/api/v1/analyze", analysis(10_485_760), true, 200, ""},
		{"an analysis of 10 MiB and a byte", "/api/v1/analyze", analysis(10_485_761), false, 413, "AN-413"},
		{"an analysis of 10 MiB and a byte in chunks", "/api/v1/analyze", analysis(10_485_761), true, 413, "AN-413"},
	} {
		t.Run(c.name, func(t *testing.T) {
			size = 0
			var body io.Reader = strings.NewReader(c.body)
			if c.chunked {
				body = unsized{body}
			}
			got := f.request(t, "POST", c.path, body)
			if got.status != c.status {
				t.Fatalf("%d %.300s, want %d", got.status, got.body, c.status)
			}
			if c.code != "" && got.problem(t).Code != c.code {
				t.Errorf("%s, want %s", got.body, c.code)
			}
			if arrived := size > len(c.body)-64; arrived != (c.code == "") {
				t.Errorf("%d of %d bytes reached the worker", size, len(c.body))
			}
		})
	}
}

// TestMalformedBodies checks that the response does not wait for the rest of the body.
func TestMalformedBodies(t *testing.T) {
	t.Parallel()
	f := open(t)
	for headers, want := range map[string]string{
		"Content-Length: 2000000\r\nExpect: 100-continue\r\n\r\n": "HTTP/1.1 413 ",
		"Transfer-Encoding: chunked\r\n\r\nnonsense\r\n":          "HTTP/1.1 400 ",
	} {
		conn := f.dial(t)
		_, err := io.WriteString(conn, "POST /tags/write HTTP/1.1\r\nHost: localhost\r\n"+headers)
		must(t, err)
		answer, err := io.ReadAll(conn)
		must(t, err)
		if got := string(answer); !strings.HasPrefix(got, want) || !strings.Contains(got, `"CE-00`) {
			t.Errorf("%q: got %.300q, want %s", headers, got, want)
		}
	}
}
