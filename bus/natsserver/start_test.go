package natsserver_test

import (
	"net"
	"os"
	"testing"

	"cairn/bus/bustest"
	"cairn/bus/natsserver"
)

// TestFailedStartLeavesNoDirectory is not parallel: it sets TMPDIR.
func TestFailedStartLeavesNoDirectory(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	bustest.Must(t, err)
	defer func() { _ = l.Close() }()
	s, err := natsserver.Start("", l.Addr().String())
	if err == nil || s != nil {
		t.Errorf("got %v, %v, want an error: the address is in use", s, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}
