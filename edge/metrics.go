package edge

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"cairn/bus/telemetry"
	"cairn/schemas"
)

// exposition tells the metrics of the process as Prometheus wants them.
var exposition = promhttp.HandlerFor(telemetry.Registry, promhttp.HandlerOpts{})

// metricsPath is where metrics are, on either listener.
const metricsPath = "/metrics"

// metrics answers with the metrics of this process. They are of all tenants.
func metrics() action {
	return action{needs: schemas.RightOperate, media: "text/plain", invalid: schemas.ErrMalformed, answer: func(x *exchange) error {
		x.status = http.StatusOK
		exposition.ServeHTTP(x.w, x.r)
		return nil
	}}
}

// Observe serves what operators want to know of a process, on a listener of
// its own: /metrics, /health/live, /health/ready and /debug/pprof/. ready says
// what is missing for requests to be served. It returns nil when ctx ends, and
// has closed the listener.
func Observe(ctx context.Context, listener net.Listener, ready func(context.Context) []string, log *slog.Logger) error {
	m := http.NewServeMux()
	m.Handle("GET "+metricsPath, exposition)
	m.HandleFunc("GET /health/live", func(w http.ResponseWriter, _ *http.Request) { say(w, nil) })
	m.HandleFunc("GET /health/ready", func(w http.ResponseWriter, r *http.Request) { say(w, ready(r.Context())) })
	m.HandleFunc("GET /debug/pprof/", pprof.Index)
	m.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	m.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	m.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	server := &http.Server{
		Handler: m, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: headerBytes,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // nobody waits for a scrape
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// say answers a probe.
func say(w http.ResponseWriter, missing []string) {
	status, body, err := probed(missing)
	if err != nil {
		status = http.StatusInternalServerError
	}
	w.Header()["Content-Type"] = mediaJSON
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails when the prober left
}
