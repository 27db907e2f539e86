package security

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/test/cairntest"
)

// TestDamagedBlock overwrites 8 bytes of the file of the catalog after a crash. The log names the lost records, the
// health is degraded until an operator accepts the loss, no entity tag of before names a record of after, and cairn
// doctor restores the records from the history.
func TestDamagedBlock(t *testing.T) {
	t.Parallel()
	const records = 40
	for _, row := range []struct {
		name string
		end  float64 // of the damage, as a fraction of the file
		lost int
	}{
		{"near the end", 0.99, 1},
		{"in the middle", 0.7, 13},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data")
			p := cairntest.Up(t, "--data", data)
			tags := map[string]bool{}
			for n := range records {
				tags[put(t, p.URL(), fmt.Sprintf("block.s%02d", n))] = true
			}
			get(t, p.URL()+"/records/skill/block.s39/history", "") // waits until the history has the record
			p.Kill()
			file := filepath.Join(data, "jetstream", "$G", "streams", "KV_cairn_catalog", "msgs", "1.blk")
			block, err := os.ReadFile(file)
			if err == nil {
				end := int(float64(len(block)) * row.end)
				copy(block[end-8:end], "\xff\xff\xff\xff\xff\xff\xff\xff")
				err = os.WriteFile(file, block, 0o600)
			}
			must(t, err)
			p = cairntest.Up(t, "--data", data)
			wantHealth(t, p.URL(), func(body string) bool {
				return strings.Contains(body, fmt.Sprintf("bucket cairn_catalog has lost messages: about %d,", row.lost))
			})
			log := p.Stderr.String()
			if !strings.Contains(log, "records are lost") || !strings.Contains(log, "skill/block.s39") {
				t.Errorf("the log does not name the lost records:\n%s", log)
			}
			for n := range row.lost {
				if tag := put(t, p.URL(), fmt.Sprintf("block.new%02d", n)); tags[tag] {
					t.Errorf("the entity tag %s names two records", tag)
				}
			}
			out, err := cairntest.Command(cairntest.Program(t), nil, "doctor", "--url", p.URL(), "--nats", p.NATS(),
				"--accept-loss").CombinedOutput()
			if want := fmt.Sprintf("restored %d records: skill/block.s", row.lost); err != nil ||
				!strings.Contains(string(out), want) {
				t.Errorf("%v, got %s\nwant %q", err, out, want)
			}
			for n := range records {
				path := fmt.Sprintf("/records/skill/block.s%02d", n)
				if status, body := get(t, p.URL()+path, ""); status != http.StatusOK {
					t.Errorf("%s: got %d %s", path, status, body)
				}
			}
			wantHealth(t, p.URL(), func(body string) bool { return strings.Contains(body, `"status":"ok"`) })
		})
	}
}

// put registers a skill and returns the entity tag of its record.
func put(t *testing.T, url, id string) string {
	t.Helper()
	res, body := do(t, http.MethodPut, url+"/records/skill/"+id, "", `{"description":"A skill of the damaged block"}`)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("register %s: got %d %s", id, res.StatusCode, body)
	}
	return res.Header.Get("Etag")
}
