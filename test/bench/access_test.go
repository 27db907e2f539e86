package bench

import (
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"testing"

	"cairn/bus/bustest"

	"cairn/test/cairntest"
)

var madeKey = regexp.MustCompile(`"key": "([^"]+)"`)

// pairs is the number of edges of each configuration. Two identical edges differ
// permanently by several percent, which is more than authentication costs.
const pairs = 5

// BenchmarkAuthentication compares resolving a skill by id through edges with API keys
// and through edges without authentication. All use the same worker and the same tenant.
// In the case "off" neither side authenticates, which measures the noise.
func BenchmarkAuthentication(b *testing.B) {
	nats := bustest.FreeAddress(b)
	behind := start(b, exec.Command(cairntest.Program(b), "up", "--http", "127.0.0.1:0", "--nats-listen", nats, "--data",
		b.TempDir(),
		"--model", "offline:"))
	teacher := dial(b, behind.at)
	for _, k := range knowledge {
		must(b, teacher.post(k[0], []byte(k[1]), http.StatusOK))
	}
	out, err := exec.Command(cairntest.Program(b), "key", "create", "--tenant", "acme", "--role", "reader", "-o", "json",
		"--nats",
		"nats://"+nats).Output()
	must(b, err)
	key := madeKey.FindSubmatch(out)
	if key == nil {
		b.Fatalf("no key in %s", out)
	}
	for _, c := range []struct {
		auth, key   string
		connections int
	}{{"keys", string(key[1]), 1}, {"keys", string(key[1]), 32}, {"off", "", 1}} {
		b.Run(fmt.Sprintf("%s/connections=%d", c.auth, c.connections), func(b *testing.B) {
			edge := func(auth, key string) *side {
				args := []string{"edge", "--http", "127.0.0.1:0", "--nats", "nats://" + nats, "--auth", auth}
				if key != "" {
					args = append(args, "--rate-limit", "1000000")
				}
				return newSide(b, start(b, exec.Command(cairntest.Program(b), args...)), c.connections,
					side{path: "/resolve/skill", status: 200, key: key,
						body: func(int) []byte { return []byte(`{"skill_id":"network.find_vlans","tenant_id":"acme"}`) }})
			}
			var known, anyone, knownWork, anyoneWork []float64
			for range pairs {
				k, a := compare(b, 1000+60*c.connections, edge(c.auth, c.key), edge("off", ""))
				known, anyone = append(known, each(k, p50)...), append(anyone, each(a, p50)...)
				knownWork, anyoneWork = append(knownWork, mean(each(k, work))), append(anyoneWork, mean(each(a, work)))
			}
			report(b, "p50-µs", known, anyone)
			report(b, "cpu-µs", knownWork, anyoneWork)
		})
	}
}

// mean averages values for which single rounds are too short to measure.
func mean(list []float64) float64 {
	sum := 0.0
	for _, f := range list {
		sum += f
	}
	return sum / float64(len(list))
}
