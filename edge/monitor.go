package edge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"cairn/bus"
	"cairn/schemas"
)

// Monitor configures the HTTP listener for probes, metrics and profiles.
type Monitor struct {
	Listener net.Listener // closed by Serve
	// Ready returns a message for each missing dependency.
	Ready func(context.Context) []string
	Hosts []string // as in Config
	Pprof bool     // serve /debug/pprof/
	Log   *slog.Logger
}

// Serve answers /metrics, /health/live, /health/ready and, with Pprof,
// /debug/pprof/ until ctx ends, closes the listener and returns nil.
func (m Monitor) Serve(ctx context.Context) error {
	listener := newLimitedListener(m.Listener, monitorConnections, slog.New(bus.LogHandler(m.Log.Handler())))
	server := &http.Server{
		Handler: m.handler(), ConnState: listener.track, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readHeaderTimeout,
		WriteTimeout: maxProfile + writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(m.Log.Handler(), slog.LevelDebug),
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // a scrape may be cut off
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (m Monitor) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+metricsPath, limited(metricsHandler.ServeHTTP))
	mux.Handle("GET /health/live", limited(func(w http.ResponseWriter, _ *http.Request) { respondProbe(w, nil) }))
	ready := bus.NewCheck(healthTimeout, m.Ready)
	mux.Handle("GET /health/ready", limited(func(w http.ResponseWriter, r *http.Request) {
		respondProbe(w, ready.Result(r.Context()))
	}))
	if m.Pprof {
		mux.Handle("GET /debug/pprof/", profiles())
	}
	allowed := newHosts(m.Hosts)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := allowed.check(r); err != nil {
			writeError(w, r, err)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// limited limits the requests of each client address to the handler, like those to a
// route that needs no credential.
func limited(handle http.HandlerFunc) http.Handler {
	p := newAnonymousLimiter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		release, err := p.enter(w, r)
		if err != nil {
			writeError(w, r, err)
			return
		}
		defer release()
		handle(w, r)
	})
}

// writeError responds with the error e.
func writeError(w http.ResponseWriter, r *http.Request, e *schemas.Error) {
	c := *e
	c.Instance, _ = boundedPath(r)
	writeJSON(w, e.Status, &c)
}

// respondProbe responds to a probe.
func respondProbe(w http.ResponseWriter, missing []string) {
	h := probeHealth(missing)
	writeJSON(w, healthStatus(h), h)
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	body, _ := json.Marshal(value) // cannot fail: its texts are valid UTF-8
	w.Header()["Content-Type"] = mediaJSON
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails when the client has disconnected
}

// maxProfile bounds the duration of a profile or trace.
const maxProfile = 30 * time.Second

// profiles serves net/http/pprof, one request at a time: a profile slows the whole
// process, and two CPU profiles cannot be taken at once.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	var busy sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := checkDuration(r.URL.Query().Get("seconds")); err != nil {
			writeError(w, r, err)
			return
		}
		if !busy.TryLock() {
			w.Header().Set("Retry-After", strconv.Itoa(int(maxProfile.Seconds())))
			writeError(w, r, schemas.ErrTooManyRequests.Because("another profile of this process is in progress"))
			return
		}
		defer busy.Unlock()
		r.Body = http.NoBody // pprof reads seconds from a multipart body too, with any method
		mux.ServeHTTP(w, r)
	})
}

// checkDuration returns ErrMalformed for a duration over maxProfile. pprof ignores
// a value that is not a number.
func checkDuration(seconds string) *schemas.Error {
	if n, err := strconv.ParseFloat(seconds, 64); err != nil || n <= maxProfile.Seconds() {
		return nil
	}
	return schemas.ErrMalformed.With(schemas.FieldError{
		Field:   "seconds",
		Message: fmt.Sprintf("expected at most %v, got %q", maxProfile.Seconds(), seconds),
	})
}
