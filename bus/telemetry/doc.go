// Package telemetry defines Cairn's metrics (Prometheus) and traces (OpenTelemetry). It
// imports no other package of this module, so that all can use it. It defines all names
// and conventions. No content of a request, no tenant and no path is ever exported.
//
// Counters and histograms are registered at initialization. Functions record values and may be
// called concurrently; without a trace exporter, spans cost nothing.
package telemetry
