package tags_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
)

// BenchmarkTagWrite writes tags from 32 concurrent callers, each with its own
// connection; ns/op is the mean time between responses.
func BenchmarkTagWrite(b *testing.B) {
	server, conn := bustest.Start(b)
	serve(b, conn)
	caller := bustest.Dial(b, server)
	tags := map[string]jsontext.Value{"phase": jsontext.Value(`"intake"`), "domain": jsontext.Value(`"network"`)}
	b.ReportAllocs()
	b.ResetTimer()
	inParallel(b, 32, func(n int) error {
		_, err := bus.WriteTag.Call(b.Context(), caller, schemas.TagWrite{
			Tag: schemas.Tag{RequestID: fmt.Sprintf("bench-%d", n), Flow: "default", Tags: tags},
		})
		return err
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
}

// BenchmarkTagRead reads one tag from 32 concurrent callers.
func BenchmarkTagRead(b *testing.B) {
	server, conn := bustest.Start(b)
	serve(b, conn)
	caller := bustest.Dial(b, server)
	tag := schemas.Tag{RequestID: "bench", Flow: "default"}
	if _, err := bus.WriteTag.Call(b.Context(), caller, schemas.TagWrite{Tag: tag}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	inParallel(b, 32, func(int) error {
		_, err := bus.ReadTag.Call(b.Context(), caller, schemas.TagKey{RequestID: "bench"})
		return err
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reads/s")
}

func inParallel(b *testing.B, workers int, do func(n int) error) {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if err := do(int(n)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}
