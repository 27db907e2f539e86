package security

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"cairn/test/cairntest"
)

// wideAnalysis returns the body of an analysis of about size bytes with a unique estate, and with calls of 20 metrics
// that have a group for each record.
func wideAnalysis(n, size, calls int) []byte {
	var estate strings.Builder
	fmt.Fprintf(&estate, `{"n":%d,"hosts":[{"id":"first"}`, n)
	for i := 0; estate.Len() < size*3/4; i++ { // quotes are escaped in the body
		fmt.Fprintf(&estate, `,{"id":"host-%d"`, i)
		for field := range 20 {
			fmt.Fprintf(&estate, `,"m%d":%d`, field, i*7919*(field+1)%100_003)
		}
		estate.WriteByte('}')
	}
	estate.WriteString("]}")
	metrics := make([]string, 20)
	for i := range metrics {
		metrics[i] = fmt.Sprintf("%s:m%d", []string{"sum", "p95", "avg", "distinct"}[i%4], i)
	}
	requested := make([]map[string]any, calls)
	for i := range requested {
		requested[i] = map[string]any{"name": "compute_stats", "input": map[string]any{
			"data_key": "hosts", "group_by": "id", "metrics": metrics, "filter": map[string]any{"m0": map[string]int{"gte": i}}}}
	}
	body, _ := json.Marshal(map[string]any{"target": "H", "context": estate.String(), "calls": requested})
	return body
}

// TestRealAnalysesWithinMemory starts large analyses at the same time, in a process without a memory limit, and in one
// whose cgroup has a limit. Each is answered or refused, and the memory stays below 2 GiB and within the limit. It does
// not run in parallel, because it uses all CPUs.
func TestRealAnalysesWithinMemory(t *testing.T) {
	// The short form is small enough for a program with the race detector.
	unlimited, limited, size, calls, limit := 3, 6, 250_000, 1, 1<<30
	if os.Getenv("CAIRN_TEST_LONG") != "" {
		unlimited, limited, size, calls, limit = 24, 16, 9_000_000, 16, 512<<20
	}
	t.Run("without a limit", func(t *testing.T) {
		p := cairntest.Up(t)
		analyzeAll(t, p, unlimited, size*8/9, calls)
		if peak := peakMemory(t, p.Cmd.Process.Pid); peak > 2<<30 {
			t.Errorf("%d analyses took %d MiB of RSS, want at most 2 GiB", unlimited, peak>>20)
		} else {
			t.Logf("%d analyses took %d MiB of RSS", unlimited, peak>>20)
		}
	})
	t.Run("in a cgroup with a limit", func(t *testing.T) {
		group := newCgroup(t, limit)
		up := append([]string{"-c", `echo $$ > "$0" && exec "$@"`, filepath.Join(group, "cgroup.procs"),
			cairntest.Program(t)}, cairntest.UpArgs(t)...)
		p := cairntest.StartCommand(t, cairntest.Command("sh", nil, up...)) // an error too if the kernel has killed it
		analyzeAll(t, p, limited, size, calls)
	})
}

// analyzeAll sends n analyses at the same time. Each must be answered or refused with 503, and one answered.
func analyzeAll(t *testing.T, p *cairntest.Process, n, size, calls int) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n}}
	defer client.CloseIdleConnections()
	outcomes := make([]outcome, n)
	var sending sync.WaitGroup
	for i := range outcomes {
		body := wideAnalysis(i, size, calls)
		sending.Go(func() { outcomes[i] = analyze(client, p.URL(), body) })
	}
	sending.Wait()
	served := 0
	for i, o := range outcomes {
		switch {
		case o.err == nil && o.status == http.StatusOK && o.done:
			served++
		case o.err == nil && o.status == http.StatusServiceUnavailable && o.retryAfter != "":
		default:
			t.Errorf("analysis %d: got %+v, want 200 or 503 with Retry-After", i, o)
		}
	}
	t.Logf("%d of %d analyses were answered", served, n)
	if served == 0 {
		t.Error("no analysis was answered")
	}
}

var peakLine = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peakMemory returns the largest RSS that a process has had, in bytes.
func peakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	must(t, err)
	match := peakLine.FindSubmatch(status)
	if match == nil {
		t.Fatalf("no VmHWM in %s", status)
	}
	kib, err := strconv.ParseInt(string(match[1]), 10, 64)
	must(t, err)
	return kib << 10
}

// cgroups are the mount point and the file of the memory limit, by the text that precedes the path of a process in
// /proc/self/cgroup: version 2, and version 1.
var cgroups = map[string][2]string{
	"0::":      {"/sys/fs/cgroup", "memory.max"},
	":memory:": {"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
}

// newCgroup returns the directory of a new cgroup with a memory limit in bytes, below that of the test. It is removed
// with the test. The test is skipped where that is not permitted.
func newCgroup(t *testing.T, limit int) string {
	t.Helper()
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Skip("no cgroup: ", err)
	}
	for prefix, cgroup := range cgroups {
		_, path, ok := strings.Cut(string(own), prefix)
		if !ok {
			continue
		}
		path, _, _ = strings.Cut(path, "\n")
		group := filepath.Join(cgroup[0], path, fmt.Sprint("cairn-test-", os.Getpid()))
		if os.Mkdir(group, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(group) }) // removes what the kernel permits
		file, err := os.OpenFile(filepath.Join(group, cgroup[1]), os.O_WRONLY, 0)
		if err != nil {
			continue
		}
		_, err = fmt.Fprint(file, limit)
		if err := errors.Join(err, file.Close()); err == nil {
			return group
		}
	}
	t.Skip("no cgroup with a memory limit can be created")
	return ""
}
