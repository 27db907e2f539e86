package bench

import (
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"testing"

	"cairn/bus/bustest"
)

var madeKey = regexp.MustCompile(`"key": "([^"]+)"`)

// BenchmarkAuthentication compares a skill resolved by its id through an edge
// that knows its callers by API keys with the same through one that does not
// ask. Both ask the same worker.
func BenchmarkAuthentication(b *testing.B) {
	nats := bustest.FreeAddress(b)
	behind := start(b, exec.Command(binary(b), "up", "--http", "127.0.0.1:0", "--nats-listen", nats, "--data", b.TempDir(), "--model", "offline:"))
	teacher := dial(b, behind.at)
	for _, k := range knowledge {
		must(b, teacher.post(k[0], []byte(k[1]), http.StatusOK))
	}
	said, err := exec.Command(binary(b), "key", "create", "--tenant", "acme", "--role", "reader", "--json", "--nats", "nats://"+nats).Output()
	must(b, err)
	key := madeKey.FindSubmatch(said)
	if key == nil {
		b.Fatalf("no key in %s", said)
	}
	edge := func(flags ...string) server {
		return start(b, exec.Command(binary(b), append([]string{"edge", "--http", "127.0.0.1:0", "--nats", "nats://" + nats}, flags...)...))
	}
	asked, open := edge("--auth", "keys", "--rate-limit", "1000000"), edge()
	body := func(int) []byte { return []byte(`{"skill_id":"network.find_vlans","tenant_id":"acme"}`) }
	for _, connections := range []int{1, 32} {
		b.Run(fmt.Sprintf("connections=%d", connections), func(b *testing.B) {
			known := newSide(b, asked, connections, side{path: "/resolve/skill", status: 200, body: body, key: string(key[1])})
			anyone := newSide(b, open, connections, side{path: "/resolve/skill", status: 200, body: body})
			k, a := compare(b, 3000+160*connections, known, anyone)
			report(b, "p50-µs", each(k, p50), each(a, p50))
			report(b, "cpu-µs", each(k, work), each(a, work))
		})
	}
}
