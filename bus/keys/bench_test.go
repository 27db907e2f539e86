package keys_test

import (
	"log/slog"
	"testing"

	"cairn/bus/bustest"
	"cairn/bus/keys"
	"cairn/schemas"
)

// BenchmarkIdentify measures the authentication of one request.
func BenchmarkIdentify(b *testing.B) {
	conn := bustest.Open(b)
	ring := keys.NewRing(conn, slog.New(slog.DiscardHandler))
	_, secret := create(b, open(b, conn), keys.Key{Role: schemas.RoleReader, Tenants: []string{"acme"}})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ring.Identify(b.Context(), secret); err != nil {
			b.Fatal(err)
		}
	}
}
