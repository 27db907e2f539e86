package register_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"cairn/bus"
	"cairn/bus/bustest"
)

// BenchmarkRegister registers skills of a typical size from 32 concurrent callers.
// Each response means that the record is on disk and searchable; ns/op is the mean
// time between responses.
func BenchmarkRegister(b *testing.B) {
	server, _, _ := serve(b)
	serveResolve(b, server)
	caller := bustest.Dial(b, server)
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for range 32 {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				reply, err := bus.RegisterSkill.Forward(b.Context(), caller, skill(n))
				if err != nil || strings.Contains(string(reply.Body), "indexed") {
					b.Errorf("got %s, %v, want an indexed record", reply.Body, err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

func skill(n int64) []byte {
	text := fmt.Sprintf("Audits device %d of the network and reports what differs from its plan. ", n)
	return fmt.Appendf(nil, `{"record":{"skill_id":"net.audit%d","display_name":"Audit %d","purpose":%q,"description":%q,"capabilities":["audit","report"]}}`,
		n, n, text, strings.Repeat(text, 8))
}
