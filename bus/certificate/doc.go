// Package certificate loads a TLS certificate and reloads it when its files change.
//
// While the files cannot be loaded, the previous certificate stays in use and each failure is
// logged. All methods may be called concurrently.
package certificate
