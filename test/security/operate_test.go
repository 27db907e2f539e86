package security

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"cairn/test/cairntest"
)

// TestOperateOverNATS sends an operation on all tenants as an edge does for an
// admin of one tenant.
func TestOperateOverNATS(t *testing.T) {
	t.Parallel()
	conn, err := nats.Connect(cairntest.Up(t).NATS())
	must(t, err)
	defer conn.Close()
	msg := nats.NewMsg("cairn.register.reindex")
	msg.Header.Set("Cairn-Identity", `{"id":"k","role":"admin","tenants":["acme"]}`)
	reply, err := conn.RequestMsg(msg, 10*time.Second)
	must(t, err)
	if !strings.Contains(string(reply.Data), "CE-007") {
		t.Errorf("reply %s, want CE-007", reply.Data)
	}
}
