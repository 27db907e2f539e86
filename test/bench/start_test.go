package bench

import (
	"net"
	"net/http"
	"testing"
	"time"
)

// BenchmarkStart measures the time from the start of the process, with an empty data
// directory, to status 200 of the health check.
func BenchmarkStart(b *testing.B) {
	var took []float64
	for range rounds(b) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(b, err)
		at := l.Addr().String()
		must(b, l.Close())
		cmd := upCommand(b, at)
		began := time.Now()
		p := launch(b, cmd)
		err = healthy(at)
		took = append(took, milliseconds(time.Since(began)))
		_ = p.Stop()
		must(b, err)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(took), "start-ms")
}

// healthy waits for status 200 of the health check.
func healthy(at string) (err error) {
	for end := time.Now().Add(startTime); time.Now().Before(end); {
		var res *http.Response
		if res, err = http.Get("http://" + at + "/health"); err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		time.Sleep(2 * time.Millisecond)
	}
	return err
}
