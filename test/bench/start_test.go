package bench

import (
	"net"
	"net/http"
	"testing"
	"time"
)

// BenchmarkStart is the time from the start of the process, on an empty
// folder, to a health of 200.
func BenchmarkStart(b *testing.B) {
	var took []float64
	for range turns(b) {
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

// healthy waits for a health of 200.
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
