// Package bustest runs a real NATS server inside tests.
//
// Servers, connections and services stop with the test that started them, in reverse order. A
// test that cannot start one fails. Servers listen on 127.0.0.1 only and store in temporary
// directories; a [Link] is a proxy that forwards nothing while it is cut.
package bustest
