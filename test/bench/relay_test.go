package bench

import (
	"fmt"
	"os"
	"testing"
	"time"
)

const (
	// pace is the time from one token of a stream to the next: 40 a second.
	pace = 25 * time.Millisecond
	// spoken is how many tokens each stream has.
	spoken = 200
	// ramp is in how long the streams begin, one after the other. No two begin
	// at the same time between two tokens.
	ramp = 1007 * time.Millisecond
	// leastRounds is how often each relay is measured at least; odd, for the median.
	leastRounds = 5
)

// relays carry the tokens of a model to HTTP clients as server-sent events, in
// the order in which they are explained below.
var relays = []relay{
	{"floor", "/"},
	{"nats", "/"},
	{"cairn", "/api/v1/analyze"},
}

// relay is served by the rival of its name, each time in a fresh process.
type relay struct{ name, path string }

// figures are what one round gave.
type figures struct {
	p50, p99 float64 // of the tokens' delays, in milliseconds
	work     float64 // processor time of the process for one token, in microseconds
	memory   float64 // of one stream, in KiB
	others   float64 // what processes that do not belong here took of the machine, in percent
}

// BenchmarkRelay compares how the tokens of many answers at once reach their
// HTTP clients: through a reverse proxy alone (floor), through the least that
// HTTP over NATS can be (nats), and through Cairn's bus and edge (cairn). A
// token's delay is from the moment it is due, by the clock of a model that
// waits for nobody, until the client has it. It ends at once when a token is
// lost, doubled or out of order, or a stream is cut.
//
// A process has all between the model's clock and the client: the HTTP server
// with its connections, the NATS server (for the floor the proxy's connections
// and the model's own HTTP server), the goroutine of each stream that plays the
// model, and with Cairn the events that are kept so that a stream can be
// resumed. What is resident in it is compared before the streams and while
// they all run, garbage included, with Go's collector as it is by default.
func BenchmarkRelay(b *testing.B) {
	for _, streams := range []int{100, 500} {
		b.Run(fmt.Sprint(streams), func(b *testing.B) {
			all := make([][]figures, len(relays))
			for round := range max(leastRounds, b.N) {
				for i := range relays {
					i = (i + round) % len(relays)
					all[i] = append(all[i], relays[i].round(b, streams))
				}
			}
			reportRelays(b, all)
		})
	}
}

// round measures the relay in a process of its own.
func (r relay) round(b *testing.B, streams int) figures {
	b.Helper()
	at := rival(b, r.name)
	defer func() { _ = at.process.Stop() }()
	l := listeners{server: at, path: r.path}
	l.listen(b, 20, 20) // what is used for the first time does not count
	self := server{pids: []int{os.Getpid()}}
	idle, worked, listened, before := at.resident(b), at.work(b), self.work(b), machine(b)
	heard := l.listen(b, streams, spoken)
	worked, listened = at.work(b)-worked, self.work(b)-listened
	after := machine(b)
	if fault := faults(heard, spoken); fault != "" {
		b.Fatalf("%s, %d streams: %s", r.name, streams, fault)
	}
	delays := steady(heard)
	return figures{
		p50: delays[len(delays)/2].Seconds() * 1000, p99: delays[len(delays)*99/100].Seconds() * 1000,
		work:   worked / float64(streams*spoken),
		memory: (l.resident - idle) / float64(streams) / 1024,
		others: 100 * (after.busy - before.busy - worked - listened) / (after.all - before.all),
	}
}

// reportRelays is the medians of the rounds, and of Cairn's ratios to NATS
// alone round by round.
func reportRelays(b *testing.B, all [][]figures) {
	b.Helper()
	b.ReportMetric(0, "ns/op") // says nothing here
	units := []struct {
		name string
		of   func(figures) float64
	}{
		{"p50-ms", func(f figures) float64 { return f.p50 }},
		{"p99-ms", func(f figures) float64 { return f.p99 }},
		{"µs/token", func(f figures) float64 { return f.work }},
		{"KiB/stream", func(f figures) float64 { return f.memory }},
		{"others-%", func(f figures) float64 { return f.others }},
	}
	for _, unit := range units {
		var lists [][]float64
		for i, r := range relays {
			var list []float64
			for _, f := range all[i] {
				list = append(list, unit.of(f))
			}
			b.ReportMetric(median(list), r.name+"-"+unit.name)
			lists = append(lists, list)
		}
		if unit.name != "others-%" {
			b.ReportMetric(median(ratios(lists[2], lists[1])), unit.name+"-ratio")
		}
	}
}
