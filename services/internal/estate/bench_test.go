package estate_test

import (
	"encoding/json"
	"testing"

	"cairn/services/internal/estate"
	"cairn/services/internal/estate/estatetest"
)

func BenchmarkParse(b *testing.B) {
	text := estatetest.Read(b, "limit")
	b.Run("estate", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := estate.Parse(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding/json into any", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			var v any
			if err := json.Unmarshal(text, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// requestBody returns an analyze request with the largest estate.
func requestBody(tb testing.TB) []byte {
	tb.Helper()
	body, err := json.Marshal(map[string]string{
		"query": "how many vulnerabilities?", "target": "H", "context": string(estatetest.Read(tb, "limit")),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

func BenchmarkSplitBody(b *testing.B) {
	body := requestBody(b)
	b.Run("estate", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := estate.SplitBody(body); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("its context", func(b *testing.B) {
		split, err := estate.SplitBody(body)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(split.Context)))
		b.ReportAllocs()
		for b.Loop() {
			estate.Unquote(split.Context)
		}
	})
	b.Run("encoding/json into struct", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			var v struct{ Query, Target, Context string }
			if err := json.Unmarshal(body, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkFirstAnswer measures the work of this package from the last byte of a body to
// the first tool result.
func BenchmarkFirstAnswer(b *testing.B) {
	body := requestBody(b)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		split, err := estate.SplitBody(body)
		if err != nil {
			b.Fatal(err)
		}
		e, err := estate.Read(b.Context(), estate.Unquote(split.Context))
		if err != nil {
			b.Fatal(err)
		}
		e.Outline(8 << 10)
		if _, err := e.Stats(b.Context(), estate.Query{DataKey: "gcp_machine_types", GroupBy: estate.GroupBy{"series"}}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTools(b *testing.B) {
	text := estatetest.Read(b, "limit")
	e, err := estate.Parse(text)
	if err != nil {
		b.Fatal(err)
	}
	q := estate.Query{
		DataKey: "gcp_machine_types", GroupBy: estate.GroupBy{"cpus"},
		Filter: map[string]json.RawMessage{"series": json.RawMessage(`"n2"`)},
	}
	b.Run("stats", func(b *testing.B) {
		for b.Loop() {
			if _, err := e.Stats(b.Context(), q); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("outline of a new estate", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			e, err := estate.Parse(text)
			if err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			e.Outline(8 << 10)
		}
	})
}

// BenchmarkCalls measures calls of every kind on an estate whose columns are cached.
func BenchmarkCalls(b *testing.B) {
	e := parse(b, string(estatetest.Read(b, "limit-text")))
	e.Outline(1 << 10) // reads all columns
	for _, received := range []string{
		`{"data_key":"product_versions","group_by":"product"}`,
		`{"data_key":"product_versions","group_by":"version"}`,
		`{"data_key":"product_versions","group_by":"product","metrics":["distinct:version","distinct:date"]}`,
		`{"data_key":"product_versions","filter":{"version":{"contains":"1"},"date":{"gte":"2020"}}}`,
		`{"data_key":"product_versions","filter":{"version":{"in":["1.0","2.0"]}},"group_by":"date"}`,
		`{"data_key":"gcp_machine_types","group_by":"zone","metrics":["p95:memory_gb","p50:cpus","avg:cpus","max:cpus"]}`,
		`{"data_key":"gcp_machine_types","filter":{"memory_gb":{"gt":16},"series":{"ne":"n2"}},"metrics":["sum:cpus"]}`,
		`{"data_key":"ec2_instance_types","group_by":"memory.type","filter":{"cpu":{"exists":true}}}`,
		`{"data_key":"aws_endpoints","group_by":"variants"}`,
		`{"data_key":"vulnerabilities","filter":{"cwes":{"contains":"CWE-59"}},"group_by":"vendorProject"}`,
	} {
		b.Run(received, func(b *testing.B) {
			q := query(b, received)
			for b.Loop() {
				if _, err := e.Stats(b.Context(), q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
