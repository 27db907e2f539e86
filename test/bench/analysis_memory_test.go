package bench

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"cairn/test/cairntest"
	"cairn/test/wait"
)

// BenchmarkAnalysisMemory measures the RSS of a server with analyses of different estates in
// progress at the same time: its model answers once all are accepted or refused. The server
// has the default settings, and a memory limit of 2 GiB from which it derives its budgets.
func BenchmarkAnalysisMemory(b *testing.B) {
	for _, row := range []struct {
		name      string
		analyses  int
		bodyBytes int // of each; 0: a few records
	}{
		{"16 of 8 MB", 16, 8_000_000}, {"32 of 8 MB", 32, 8_000_000}, {"500 small", 500, 0},
	} {
		b.Run(row.name, func(b *testing.B) {
			model := cairntest.NewSlowModel(b, "")
			cmd := upCommand(b, "--model", model.URL)
			cmd.Env = append(cmd.Environ(), "GOMEMLIMIT=2GiB")
			cairn := start(b, cmd)
			idle := memoryOf(b, cairn.pids[0], "VmRSS")
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: row.analyses}}
			defer client.CloseIdleConnections()
			var answered, refused, failed atomic.Int64
			var sending sync.WaitGroup
			for i := range row.analyses {
				body := cairntest.LargeAnalysis(i, row.bodyBytes)
				sending.Go(func() {
					res, err := client.Post("http://"+cairn.address+"/api/v1/analyze", "application/json", bytes.NewReader(body))
					if err != nil {
						failed.Add(1)
						return
					}
					defer func() { _ = res.Body.Close() }()
					var text bytes.Buffer
					switch _, err := text.ReadFrom(res.Body); {
					case res.StatusCode == http.StatusServiceUnavailable && res.Header.Get("Retry-After") != "":
						refused.Add(1)
					case err == nil && res.StatusCode == http.StatusOK && strings.Contains(text.String(), "event: done"):
						answered.Add(1)
					default:
						failed.Add(1)
					}
				})
			}
			wait.Until(b, "each analysis is in progress or refused", func() bool {
				return model.Waiting()+int(refused.Load()+failed.Load()) >= row.analyses
			})
			held := memoryOf(b, cairn.pids[0], "VmRSS")
			model.Release()
			sending.Wait()
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(idle/(1<<20), "idle-MiB")
			b.ReportMetric(held/(1<<20), "RSS-MiB")
			b.ReportMetric(memoryOf(b, cairn.pids[0], "VmHWM")/(1<<20), "peak-MiB")
			b.ReportMetric(float64(answered.Load()), "answered")
			b.ReportMetric(float64(refused.Load()), "refused")
			atMost(b, float64(failed.Load()), "failed", 0)
		})
	}
}
