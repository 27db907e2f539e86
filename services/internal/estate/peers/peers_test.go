package peers_test

import (
	"bufio"
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"cairn/services/internal/estate"
	"cairn/services/internal/estate/estatetest"
)

// peersQuery is the query of the benchmarks.
var peersQuery = estate.Query{DataKey: "product_versions", GroupBy: estate.GroupBy{"product"}}

// BenchmarkParseAndGroup compares reading 10 MiB of text and counting the records of one
// array by a field. sonic only validates the text.
func BenchmarkParseAndGroup(b *testing.B) {
	text := estatetest.Read(b, "limit-text")
	file := filepath.Join(b.TempDir(), "estate.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		b.Fatal(err)
	}
	cairn := func() int {
		e, err := estate.Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		return groups(b, e)
	}
	b.Run("sonic.Valid", func(b *testing.B) { compare(b, timed(cairn), sonicPeer(b, file)) })
	b.Run("encoding json into any", func(b *testing.B) {
		compare(b, timed(cairn), timed(func() int { return jsonGroups(b, text) }))
	})
	b.Run("SQLite", func(b *testing.B) {
		db := openOracle(b).db
		compare(b, timed(cairn), timed(func() int { return rowsOf(b, db, sqliteGroups, string(text)) }))
	})
	for _, kind := range []string{"polars", "duckdb"} {
		b.Run(kind, func(b *testing.B) { compare(b, timed(cairn), pythonPeer(b, kind, file)) })
	}
}

// BenchmarkGroup compares the same count on loaded data.
func BenchmarkGroup(b *testing.B) {
	text := estatetest.Read(b, "limit-text")
	file := filepath.Join(b.TempDir(), "estate.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		b.Fatal(err)
	}
	e := parse(b, string(text))
	cairn := func() int { return groups(b, e) }
	cairn() // reads the column
	b.Run("SQLite", func(b *testing.B) {
		db := openOracle(b).db
		if _, err := db.Exec("CREATE TABLE versions AS "+sqliteRecords, string(text)); err != nil {
			b.Fatal(err)
		}
		compare(b, timed(cairn), timed(func() int {
			return rowsOf(b, db, "SELECT product, COUNT(*) FROM versions GROUP BY 1")
		}))
	})
	for _, kind := range []string{"polars", "duckdb"} {
		b.Run(kind, func(b *testing.B) { compare(b, timed(cairn), pythonPeer(b, kind+"-cached", file)) })
	}
}

// A peer runs once and returns the time in milliseconds and the number of groups, 0 if it
// does not group.
type peer func() (took float64, groups int)

func timed(work func() int) peer {
	return func() (float64, int) {
		began := time.Now()
		n := work()
		return float64(time.Since(began).Nanoseconds()) / 1e6, n
	}
}

// compare runs both alternately, so that load on the machine affects both, and reports
// medians of the times and of their ratio.
func compare(b *testing.B, cairn, baseline peer) {
	b.Helper()
	cairn()
	baseline() // warm-up
	var ours, theirs, ratios []float64
	for b.Loop() {
		took, groups := cairn()
		theirTook, theirGroups := baseline()
		if theirGroups != groups && theirGroups != 0 {
			b.Fatalf("%d groups, the baseline has %d", groups, theirGroups)
		}
		ours, theirs, ratios = append(ours, took), append(theirs, theirTook), append(ratios, took/theirTook)
	}
	b.ReportMetric(0, "ns/op") // not meaningful
	b.ReportMetric(middle(ours), "cairn-ms")
	b.ReportMetric(middle(theirs), "baseline-ms")
	b.ReportMetric(middle(ratios), "ratio")
}

func middle(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

func groups(b *testing.B, e *estate.Estate) int {
	s, err := e.Stats(b.Context(), peersQuery)
	if err != nil {
		b.Fatal(err)
	}
	return s.GroupCount
}

func jsonGroups(b *testing.B, text []byte) int {
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		b.Fatal(err)
	}
	counts := map[any]int{}
	for _, record := range v[peersQuery.DataKey].([]any) {
		counts[record.(map[string]any)[peersQuery.GroupBy[0]]]++
	}
	return len(counts)
}

const (
	sqliteRecords = "SELECT value ->> '$.product' AS product FROM json_each(?, '$.product_versions')"
	sqliteGroups  = "SELECT product, COUNT(*) FROM (" + sqliteRecords + ") GROUP BY 1"
)

func rowsOf(b *testing.B, db *sql.DB, query string, args ...any) (n int) {
	b.Helper()
	rows, err := db.Query(query, args...)
	if err != nil {
		b.Fatal(err)
	}
	for rows.Next() {
		n++
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return n
}

// pythonPeer runs testdata/peer.py with the interpreter CAIRN_BENCH_PYTHON, by default the
// one in PATH.
func pythonPeer(b *testing.B, kind, file string) peer {
	b.Helper()
	python := os.Getenv("CAIRN_BENCH_PYTHON")
	if python == "" {
		python = "python3"
	}
	return start(b, kind, exec.Command(python, "testdata/peer.py", kind, file))
}

func sonicPeer(b *testing.B, file string) peer {
	b.Helper()
	path := filepath.Join(b.TempDir(), "sonic")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Dir = "testdata/sonic"
	if out, err := build.CombinedOutput(); err != nil {
		b.Skipf("sonic does not build here: %v\n%s", err, out)
	}
	return start(b, "sonic", exec.Command(path, file))
}

// start starts a peer that runs once per input line, and skips the benchmark if it cannot.
func start(b *testing.B, name string, cmd *exec.Cmd) peer {
	b.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Skipf("%s does not run here: %v", name, err)
	}
	b.Cleanup(func() {
		_ = in.Close() // the process exits at the end of its input
		_ = cmd.Wait()
	})
	lines := bufio.NewReader(out)
	if ready, _ := lines.ReadString('\n'); ready != "ready\n" {
		_, _ = io.Copy(io.Discard, lines)
		_ = cmd.Wait()
		b.Skipf("%s does not run here: %s", name, stderr.String())
	}
	return func() (took float64, groups int) {
		if _, err := io.WriteString(in, "\n"); err != nil {
			b.Fatal(err)
		}
		if _, err := fmt.Fscanln(lines, &took, &groups); err != nil {
			b.Fatalf("%s: %v\n%s", name, err, stderr.String())
		}
		return took, groups
	}
}
