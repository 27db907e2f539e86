package mcp

import (
	"testing"

	"cairn/schemas"
)

// BenchmarkListTools lists the tools of each role.
func BenchmarkListTools(b *testing.B) {
	h, err := New(1 << 20)
	must(b, err)
	for _, role := range schemas.Roles() {
		b.Run(string(role), func(b *testing.B) {
			c := &stub{identity: &schemas.Identity{Role: role}}
			size := 0
			for b.Loop() {
				size = len(post(b, h, c, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
			}
			b.ReportMetric(float64(size), "B/reply")
		})
	}
}
