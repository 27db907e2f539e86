package index_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"cairn/bus/telemetry"
)

// A search is a span in the caller's trace, without any text of the query. Not
// parallel: tracing is global to the process.
func TestElasticIsTraced(t *testing.T) {
	var mu sync.Mutex
	var exported strings.Builder
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // uncompressed, so texts are visible
		mu.Lock()
		defer mu.Unlock()
		_, _ = exported.Write(body)
	}))
	t.Cleanup(collector.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	flush, err := telemetry.Trace(t.Context(), "test", "1", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ix := openAt(t, newStub(t).URL, lexical(t))
	ctx := telemetry.Extract(t.Context(), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "")
	if _, err := ix.Search(ctx, vlans); err != nil {
		t.Fatal(err)
	}
	flush(context.Background())
	for _, want := range []string{"msearch elasticsearch", "db.system.name", "db.operation.name", "\x0a\xf7\x65\x19"} {
		if !strings.Contains(exported.String(), want) {
			t.Errorf("no %q in the span", want)
		}
	}
	if strings.Contains(exported.String(), vlans.Text) {
		t.Error("the query is in the span")
	}
}
