package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"cairn/bus"
	"cairn/bus/telemetry"
	"cairn/deploy/internal/flags"
	"cairn/edge"
)

// flushTimeout bounds the export of the last spans at shutdown.
const flushTimeout = 2 * time.Second

// observed holds the flags for metrics, profiles and host names.
type observed struct {
	metrics         string
	metricsInsecure bool // allow a non-loopback --metrics address
	pprof           bool
	hosts           []string
}

// probes describes a process to its traces and health endpoints.
type probes struct {
	name  string                         // service name in traces
	ready func(context.Context) []string // reasons why the process is not ready
}

func (o *observed) flags(f *pflag.FlagSet) {
	words(f, &o.hosts, "http-host",
		"host `NAME` of this process, space-separated list for several; requests with a Host header other than these, localhost or an IP address are answered with 421")
	f.StringVar(&o.metrics, "metrics", "",
		"separate listen `ADDRESS` for /metrics, /health/live and /health/ready; empty: an edge serves them on --http")
	f.BoolVar(&o.metricsInsecure, "metrics-insecure", false,
		"allow a non-loopback --metrics address, which has no authentication")
	f.BoolVar(&o.pprof, "pprof", false, "serve /debug/pprof/ on --metrics: one profile of at most 30 s at a time")
}

// observe starts tracing and, with --metrics, the metrics listener. The caller calls end
// last, which flushes the spans within the drain timeout and closes the listener.
func (o *observed) observe(ctx context.Context, log *slog.Logger, drain time.Duration,
	process probes) (end func(), err error) {
	telemetry.Build(bus.Version)
	flush, err := telemetry.Trace(ctx, process.name, bus.Version, log)
	if err != nil {
		return nil, err
	}
	hide, err := o.listenMetrics(ctx, log, process)
	if err != nil {
		return nil, err
	}
	return func() {
		flushing, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(flushTimeout, drain))
		defer cancel()
		flush(flushing)
		hide()
	}, nil
}

// listenMetrics serves metrics on --metrics until hide is called. A process that drains
// is not ready.
func (o *observed) listenMetrics(ctx context.Context, log *slog.Logger, process probes) (hide func(), err error) {
	if o.metrics == "" && o.pprof {
		return nil, flags.Usage(errors.New("--pprof requires a --metrics address"))
	}
	if o.metrics == "" {
		return func() {}, nil
	}
	if err := guard("metrics", o.metrics, o.metricsInsecure, "set --metrics-insecure to allow it"); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", o.metrics)
	if err != nil {
		return nil, fmt.Errorf("--metrics: %w", err)
	}
	log.Info("metrics", "url", "http://"+listener.Addr().String()+"/metrics")
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	var served sync.WaitGroup
	served.Go(func() {
		ready := func(requestCtx context.Context) []string {
			if ctx.Err() != nil {
				return []string{"the process is shutting down"}
			}
			return process.ready(requestCtx)
		}
		err := edge.Monitor{Listener: listener, Ready: ready, Hosts: o.hosts, Pprof: o.pprof, Log: log}.Serve(serving)
		if err != nil {
			log.Error("metrics server failed", "err", err)
		}
	})
	return func() { stop(); served.Wait() }, nil
}

// checkHosts rejects --http-host values that are not host names.
func (o *observed) checkHosts() error {
	for _, name := range o.hosts {
		if strings.ContainsAny(name, ":/*@[]") {
			return flags.Usage(fmt.Errorf("--http-host: expected a host name without scheme, port or wildcard, got %q", name))
		}
	}
	return nil
}
