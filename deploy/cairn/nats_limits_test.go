package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"cairn/test/wait"
)

// TestAccountLimits checks the limits of each account. TestPlatformConnections reaches that of connections.
func TestAccountLimits(t *testing.T) {
	n := startNode(t, "nats-1", single)
	rows := []struct {
		account, user                       string
		connections, subscriptions, payload int
	}{
		{"SYS", "system", 64, 1000, 1 << 20},
		{"KEYS", "keys", 64, 1000, 1 << 20},
		{"READER", "reader", 1024, 10_000, 1 << 20},
		{"PLATFORM", "platform", 1024, 10_000, 8 << 20},
		{"CAIRN", "worker", 1024, 10_000, 8 << 20},
	}
	if z, err := n.Accountz(nil); err != nil || len(z.Accounts) != len(rows)+1 {
		t.Errorf("accounts: %+v, %v; want those of the table, and the default one", z, err)
	}
	for _, row := range rows {
		account, err := n.LookupAccount(row.account)
		if err != nil {
			t.Fatal(err)
		}
		if got := account.MaxActiveConnections(); got != row.connections {
			t.Errorf("%s: the limit of connections is %d; want %d", row.account, got, row.connections)
		}
		if err := n.subscribe(t, row.user, row.subscriptions); err != nil {
			t.Errorf("%s: %d subscriptions: %v", row.account, row.subscriptions, err)
		}
		if err := n.subscribe(t, row.user, row.subscriptions+1); !errors.Is(err, nats.ErrMaxSubscriptionsExceeded) {
			t.Errorf("%s: %d subscriptions: %v", row.account, row.subscriptions+1, err)
		}
		for _, size := range []int{row.payload, row.payload + 1} {
			if got := n.tooLarge(t, row.user, size); got != (size > row.payload) {
				t.Errorf("%s: a message of %d bytes is too large: %v", row.account, size, got)
			}
		}
	}
}

// ignored keeps errors out of the output; LastError returns them.
var ignored = nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})

// subscribe opens the number of subscriptions over one connection, and returns the error of the server.
func (n node) subscribe(t *testing.T, user string, number int) error {
	t.Helper()
	nc := n.dial(t, user, ignored)
	defer nc.Close()
	received := make(chan *nats.Msg)
	for i := range number {
		if _, err := nc.ChanSubscribe(fmt.Sprintf("_INBOX_%s.%d", user, i), received); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.FlushTimeout(wait.Timeout); err != nil {
		t.Fatal(err)
	}
	return nc.LastError()
}

// tooLarge reports whether the client or the server refuses a message for its size.
func (n node) tooLarge(t *testing.T, user string, size int) bool {
	t.Helper()
	nc := n.dial(t, user, nats.NoReconnect(), ignored)
	defer nc.Close()
	if err := nc.Publish("_INBOX_"+user, make([]byte, size)); err != nil {
		return errors.Is(err, nats.ErrMaxPayload)
	}
	_ = nc.FlushTimeout(wait.Timeout) // fails if the server closes the connection
	err := nc.LastError()             // or that of the permissions
	return err != nil && strings.Contains(strings.ToLower(err.Error()), "maximum payload")
}

// TestPlatformConnections: platform services that open too many connections are refused, while an edge
// connects.
func TestPlatformConnections(t *testing.T) {
	n := startNode(t, "nats-1", single)
	const limit = 1024
	for range limit {
		n.dial(t, "platform")
	}
	if _, err := nats.Connect(n.ClientURL(), nats.UserInfo("platform", password)); !errors.Is(err,
		nats.ErrMaxAccountConnectionsExceeded) {
		t.Errorf("connection %d: got %v, want %v", limit+1, err, nats.ErrMaxAccountConnectionsExceeded)
	}
	n.dial(t, "edge")
}
