package bus_test

import (
	"strings"
	"testing"

	"cairn/bus"
)

func TestOpenInvalidURL(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, url, want string }{
		{"another scheme", "http://host:4222", "expected one of the schemes nats"},
		{"an invalid port", "nats://edge:hidden@host:x", "NATS URL 1: expected nats://host:4222"},
		{"a port that is too large", "nats://edge:hidden@host:70000", "expected a port from 1 to 65535"},
		{"no host", "nats://", "NATS URL 1: expected nats://host:4222"},
		{"the second of two", "nats://host:4222,nats://edge:hid%zzden@host", "NATS URL 2"},
		{"an embedded server", "embedded:/tmp", "reachable only in the process that starts it"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			conn, err := bus.Open(row.url, t.Name())
			if err == nil {
				conn.Close()
				t.Fatal("got a connection")
			}
			if !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "hid") {
				t.Errorf("got %v, want %s", err, row.want)
			}
		})
	}
}
