package bench

import (
	"fmt"
	"testing"
	"time"
)

const (
	// pace is the interval between two tokens of a stream: 40 per second.
	pace = 25 * time.Millisecond
	// tokensPerStream is the number of tokens of each stream.
	tokensPerStream = 200
	// ramp is the period over which the starts of the streams are spread. No two start at the
	// same offset between two tokens.
	ramp = 1007 * time.Millisecond
	// minRelayRounds is the minimum number of rounds for each relay; odd, for the median.
	minRelayRounds = 5
)

// relays lists the compared relays, which forward the tokens of a model to HTTP clients
// as server-sent events. BenchmarkRelay describes them in the same order.
var relays = []relay{
	{"floor", "/"},
	{"nats", "/"},
	{"cairn", "/api/v1/analyze"},
}

// relay is a named baseline. Each round runs it in a new process.
type relay struct{ name, path string }

// figures are the results of one round.
type figures struct {
	p50, p99 float64 // delays of the tokens, in milliseconds
	work     float64 // CPU time of the process per token, in microseconds
	memory   float64 // per stream, in KiB
}

// BenchmarkRelay compares how the tokens of many concurrent responses reach their HTTP
// clients: through a reverse proxy alone (floor), through a minimal handler over NATS
// (nats), and through Cairn's bus and edge (cairn). The delay of a token is the time from
// the moment it is due, by the clock of a model that never blocks, until the client has
// received it. The benchmark fails when a token is lost, duplicated or reordered, or a
// stream is truncated.
//
// A process contains everything between the model's clock and the client: the HTTP server
// with its connections, the NATS server (for the floor, the proxy's connections and the
// model's own HTTP server), the goroutine of each stream that simulates the model, and for
// Cairn the replay buffers with which a stream can be resumed. Its RSS is compared before
// the streams and while they all run, including garbage; Cairn has its GC target of 200 %,
// and the others Go's default.
func BenchmarkRelay(b *testing.B) {
	for _, streams := range []int{100, 500} {
		b.Run(fmt.Sprint(streams), func(b *testing.B) {
			all := make([][]figures, len(relays))
			for round := range max(minRelayRounds, b.N) {
				for i := range relays {
					i = (i + round) % len(relays)
					all[i] = append(all[i], relays[i].round(b, streams))
				}
			}
			reportRelays(b, all)
		})
	}
}

// BenchmarkFirstToken opens 500 streams at the same time, and measures the time from the request of a
// stream to its first token.
func BenchmarkFirstToken(b *testing.B) {
	const streams, tokens = 500, 80
	all := make([][]float64, len(relays))
	for round := range max(minRelayRounds, b.N) {
		for i := range relays {
			i = (i + round) % len(relays)
			all[i] = append(all[i], relays[i].firstToken(b, streams, tokens))
		}
	}
	b.ReportMetric(0, "ns/op") // meaningless here
	for i, r := range relays {
		b.ReportMetric(median(all[i]), r.name+"-ms")
	}
	b.ReportMetric(median(ratios(all[2], all[1])), "ratio")
}

// firstToken returns the median time to the first token of streams that are opened at the same time, in milliseconds.
func (r relay) firstToken(b *testing.B, streams, tokens int) float64 {
	b.Helper()
	relay := baseline(b, r.name)
	defer func() { _ = relay.process.Stop() }()
	l := listeners{server: relay, path: r.path}
	l.listen(b, 20, 20, ramp) // warm-up
	list := l.listen(b, streams, tokens, 0)
	if fault := faults(list, tokens); fault != "" {
		b.Fatalf("%s: %s", r.name, fault)
	}
	var delays []float64
	for _, h := range list {
		delays = append(delays, (h.tokens[0].came-h.requested).Seconds()*1000)
	}
	return median(delays)
}

// round measures the relay in a new process.
func (r relay) round(b *testing.B, streams int) figures {
	b.Helper()
	relay := baseline(b, r.name)
	defer func() { _ = relay.process.Stop() }()
	l := listeners{server: relay, path: r.path}
	l.listen(b, 20, 20, ramp) // warm-up
	idle, worked := memoryOf(b, relay.pids[0], "VmRSS"), relay.cpuTime(b)
	received := l.listen(b, streams, tokensPerStream, ramp)
	worked = relay.cpuTime(b) - worked
	if fault := faults(received, tokensPerStream); fault != "" {
		b.Fatalf("%s, %d streams: %s", r.name, streams, fault)
	}
	delays := steady(received)
	if len(delays) == 0 {
		b.Fatalf("%s: the %d streams were never open at the same time; the machine is too busy", r.name, streams)
	}
	return figures{
		p50: delays[len(delays)/2].Seconds() * 1000, p99: delays[len(delays)*99/100].Seconds() * 1000,
		work:   worked / float64(streams*tokensPerStream),
		memory: (l.resident - idle) / float64(streams) / 1024,
	}
}

// reportRelays reports the medians of the rounds, and of the ratios of Cairn to NATS for
// each round.
func reportRelays(b *testing.B, all [][]figures) {
	b.Helper()
	b.ReportMetric(0, "ns/op") // meaningless here
	units := []struct {
		name  string
		value func(figures) float64
	}{
		{"p50-ms", func(f figures) float64 { return f.p50 }},
		{"p99-ms", func(f figures) float64 { return f.p99 }},
		{"µs/token", func(f figures) float64 { return f.work }},
		{"KiB/stream", func(f figures) float64 { return f.memory }},
	}
	for _, unit := range units {
		var lists [][]float64
		for i, r := range relays {
			var list []float64
			for _, f := range all[i] {
				list = append(list, unit.value(f))
			}
			b.ReportMetric(median(list), r.name+"-"+unit.name)
			lists = append(lists, list)
		}
		b.ReportMetric(median(ratios(lists[2], lists[1])), unit.name+"-ratio")
	}
}
