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

// pairs is how many edges of each kind are compared. Two of one kind differ by
// several per cent for as long as they run, which is more than a key costs.
const pairs = 5

// BenchmarkAuthentication compares a skill resolved by its id through edges
// that know their callers by API keys with the same through ones that do not
// ask. All ask the same worker, for the same tenant. Under off, both sides do
// not ask: what these differ by is chance.
func BenchmarkAuthentication(b *testing.B) {
	nats := bustest.FreeAddress(b)
	behind := start(b, exec.Command(cairntest.Program(b), "up", "--http", "127.0.0.1:0", "--nats-listen", nats, "--data", b.TempDir(), "--model", "offline:"))
	teacher := dial(b, behind.at)
	for _, k := range knowledge {
		must(b, teacher.post(k[0], []byte(k[1]), http.StatusOK))
	}
	said, err := exec.Command(cairntest.Program(b), "key", "create", "--tenant", "acme", "--role", "reader", "--json", "--nats", "nats://"+nats).Output()
	must(b, err)
	key := madeKey.FindSubmatch(said)
	if key == nil {
		b.Fatalf("no key in %s", said)
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
				return newSide(b, start(b, exec.Command(cairntest.Program(b), args...)), c.connections, side{path: "/resolve/skill", status: 200, key: key,
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

// mean of what a turn is too short to measure well.
func mean(list []float64) float64 {
	sum := 0.0
	for _, f := range list {
		sum += f
	}
	return sum / float64(len(list))
}
