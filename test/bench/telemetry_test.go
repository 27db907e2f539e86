package bench

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
)

// BenchmarkTracing compares resolving a skill by id with one percent of requests traced
// and without tracing. If CAIRN_BEFORE is the path of another build of cairn, it also
// compares that with the current one, both without tracing.
func BenchmarkTracing(b *testing.B) {
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	b.Cleanup(collector.Close)
	off := upWithRecords(b, upCommand(b, "127.0.0.1:0"))
	traced := upCommand(b, "127.0.0.1:0")
	traced.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL,
		"OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.01")
	on := upWithRecords(b, traced)
	b.Run("sampled=1%", func(b *testing.B) { byID(b, on, off) })
	if before := os.Getenv("CAIRN_BEFORE"); before != "" {
		cmd := upCommand(b, "127.0.0.1:0")
		cmd.Path = before
		was := upWithRecords(b, cmd)
		b.Run("off", func(b *testing.B) { byID(b, off, was) })
	}
}

// upWithRecords starts a cairn and registers the records of knowledge.
func upWithRecords(b *testing.B, cmd *exec.Cmd) server {
	b.Helper()
	at := start(b, cmd)
	teacher := dial(b, at.at)
	for _, k := range knowledge {
		must(b, teacher.post(k[0], []byte(k[1]), http.StatusOK))
	}
	return at
}

// byID compares two servers that resolve a skill by id.
func byID(b *testing.B, one, other server) {
	b.Helper()
	body := func(int) []byte { return []byte(`{"skill_id":"network.find_vlans","tenant_id":"acme"}`) }
	send := side{path: "/resolve/skill", status: 200, body: body}
	c, r := compare(b, 6000, newSide(b, one, 1, send), newSide(b, other, 1, send))
	report(b, "p50-µs", each(c, p50), each(r, p50))
	report(b, "cpu-µs", each(c, work), each(r, work))
}
