package main

import (
	"cmp"
	"context"
	"io"
	"strings"
	"time"

	"cairn/bus"
	"cairn/deploy/internal/output"
	"cairn/schemas"
	"cairn/services"
)

// healthTimeout bounds the health check at startup.
const healthTimeout = 2 * time.Second

// report prints addresses, backends and degraded services.
func (u *up) report(out io.Writer, http, nats, node string, c services.Config, missing []string) {
	t := output.NewTable(out)
	line := func(what string, said ...string) { t.Row(append([]string{"  " + what}, said...)...) }
	t.Row("Cairn " + bus.Version + " is running.")
	t.Row()
	line("http", http, "documentation: "+http+"/docs")
	line("nats", cmp.Or(nats, "in-process only"))
	if u.cluster.Name != "" {
		line("cluster", u.cluster.Name, "node "+node)
	}
	line("data", cmp.Or(u.data, "in memory only: lost when this process exits"))
	line("services", strings.Join(services.Roles(), " "))
	line("index", output.Redacted(c.Index))
	line("embed", output.Redacted(c.Embed))
	line("model", output.Redacted(c.Model), u.chosen)
	if c.Render != "" {
		line("render", c.Render)
	}
	for _, sentence := range missing {
		line("degraded", sentence)
	}
	t.Row()
	t.Row("Press Ctrl-C to shut down.")
	_ = t.Write() // a failed write does not stop the server
}

// degraded returns why services are degraded or unavailable, one sentence each.
func degraded(ctx context.Context, conn *bus.Conn, names []string) []string {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	var missing []string
	for _, name := range names {
		h, err := bus.Health(name).Call(ctx, conn, schemas.Nothing{})
		if err != nil {
			missing = append(missing, name+": "+err.Error())
		}
		for _, sentence := range h.Degraded {
			missing = append(missing, name+": "+sentence)
		}
	}
	return missing
}
