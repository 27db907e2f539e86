package overload_test

import (
	"testing"

	"cairn/bus/overload"
)

// BenchmarkGate admits, starts, pauses and ends requests of ten tenants at the same time.
func BenchmarkGate(b *testing.B) {
	gate := overload.New(1024)
	tenants := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for n := 0; pb.Next(); n++ {
			slot := gate.Admit(tenants[n%len(tenants)])
			if slot == nil || !slot.Start(b.Context()) {
				b.Error("an idle gate refuses a request")
				return
			}
			if err := overload.Idle(overload.WithSlot(b.Context(), slot), func() error { return nil }); err != nil {
				b.Error(err)
			}
			slot.Close()
		}
	})
}
