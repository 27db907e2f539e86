package peers_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"

	"cairn/services/internal/estate"
)

// Each worker runs its share of the cases.
const (
	sqliteCases   = 40_000 // of which a third have values that SQL compares in the same way
	sqliteWorkers = 4
	callsOfEstate = 10
)

// TestStatsAgainstSQLite compares random queries on random estates with SQLite.
func TestStatsAgainstSQLite(t *testing.T) {
	t.Parallel()
	for worker := range uint64(sqliteWorkers) {
		t.Run(strconv.FormatUint(worker, 10), func(t *testing.T) {
			t.Parallel()
			o := openOracle(t)
			for seed := range uint64(sqliteCases / sqliteWorkers / callsOfEstate) {
				m := maker{rand.New(rand.NewPCG(seed, worker))}
				text := m.estate()
				if o.check(t, m, text); t.Failed() {
					t.Fatalf("seed %d: %s", seed, text)
				}
			}
		})
	}
}

// oracle is an SQLite database with the expected results.
type oracle struct{ db *sql.DB }

func openOracle(t testing.TB) oracle {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1) // each connection has its own in-memory database
	return oracle{db}
}

func (o oracle) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	if _, err := o.db.Exec(query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// lines returns the rows of a query with columns separated by blanks. Numbers have 12
// digits, since further ones depend on the order of additions.
func (o oracle) lines(t *testing.T, query string, args ...any) []string {
	t.Helper()
	rows, err := o.db.Query(query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	row, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range row {
		into[i] = &row[i]
	}
	lines := []string{}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		var line strings.Builder
		for _, v := range row {
			line.WriteString(" " + spell(v))
		}
		lines = append(lines, line.String())
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return lines
}

func spell(v any) string {
	switch v := v.(type) {
	case int64:
		return spellFloat(float64(v))
	case float64:
		return spellFloat(v)
	case nil:
		return "NaN"
	default:
		return fmt.Sprint(v)
	}
}

func spellFloat(f float64) string { return strconv.FormatFloat(f+0, 'g', 12, 64) }

// check compares the arrays, their fields, and the results of some calls.
func (o oracle) check(t *testing.T, m maker, text string) {
	t.Helper()
	e := parse(t, text)
	got, want := e.Keys(), o.keys(t, text)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("keys (-SQLite +got):\n%s", diff)
	}
	key := m.of(got)
	o.load(t, text, key)
	o.checkFields(t, e, key)
	for range callsOfEstate {
		o.checkCall(t, e, m.call(key))
	}
}

// keys returns the keys of the arrays that are not nested in another one.
func (o oracle) keys(t *testing.T, text string) []string {
	t.Helper()
	var keys []string
	for _, key := range o.lines(t, `SELECT fullkey FROM json_tree(?) WHERE type = 'array' AND fullkey NOT LIKE '%[%'`, text) {
		key = strings.TrimPrefix(strings.TrimPrefix(key, " $"), ".")
		if key == "" {
			key = estate.BareKey
		}
		keys = append(keys, key)
	}
	return keys
}

// load creates a table of the array's elements.
func (o oracle) load(t *testing.T, text, key string) {
	t.Helper()
	path := "$." + key
	if key == estate.BareKey {
		path = "$"
	}
	for _, table := range []string{"rec", "el"} {
		o.exec(t, "DROP TABLE IF EXISTS "+table)
	}
	o.exec(t, "CREATE TABLE el AS SELECT ?1 -> fullkey AS j FROM json_each(?1, ?2)", text, path)
	o.exec(t, tableOf(someFields))
}

// checkFields compares the number of values per field. Calls cover fields that are written
// with and without dots.
func (o oracle) checkFields(t *testing.T, e *estate.Estate, key string) {
	t.Helper()
	want := o.lines(t, `SELECT CASE WHEN fullkey = '$' THEN 'value' ELSE substr(fullkey, 3) END AS field,
			SUM(type <> 'null'), SUM(type = 'null')
		FROM el, json_tree(el.j) WHERE fullkey NOT LIKE '%[%' AND fullkey NOT LIKE '%"%' AND NOT (fullkey = '$' AND type = 'object')
		GROUP BY field`)
	if len(o.lines(t, `SELECT 1 FROM el, json_tree(el.j) WHERE fullkey LIKE '%"%' LIMIT 1`)) > 0 {
		return
	}
	fields := e.Fields(key)
	got := []string{}
	for _, f := range fields {
		c, err := e.Column(t.Context(), key, f.Path)
		if err != nil || c.Missing != c.Records-c.Null-f.Count {
			t.Errorf("field %+v, column %+v, error %v", f, c, err)
		}
		got = append(got, fmt.Sprintf(" %s %d %d", f.Path, f.Count, c.Null))
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields of %q (-SQLite +got):\n%s", key, diff)
	}
}

// isUniform reports whether the values of the call's fields are as the call expects: scalars for
// groups, numbers for sums, and values of the operand's type for comparisons. SQL has no rules for others.
func isUniform(t *testing.T, e *estate.Estate, c call) bool {
	t.Helper()
	types := map[string][]string{}
	for _, f := range e.Fields(c.key) {
		types[f.Path] = f.Types
	}
	only := func(field string, permitted ...string) bool {
		return !slices.ContainsFunc(types[field], func(name string) bool {
			return name != "null" && !slices.Contains(permitted, name)
		})
	}
	for _, m := range c.metrics {
		switch op, field, _ := strings.Cut(m, ":"); {
		case op == "distinct" && !only(field, "string", "number", "boolean"), op != "distinct" && !only(field, "number"):
			return false
		}
	}
	for _, condition := range c.filter {
		isNumber := json.Valid([]byte(condition.value)) && strings.ContainsAny(condition.value[:1], "-0123456789")
		switch op := condition.op; {
		case op != "gt" && op != "gte" && op != "lt" && op != "lte":
		case !isNumber || !only(condition.field, "number"):
			return false
		}
	}
	return only(c.groupBy, "string", "number", "boolean")
}

func (o oracle) checkCall(t *testing.T, e *estate.Estate, c call) {
	t.Helper()
	if !isUniform(t, e, c) {
		return
	}
	s, err := e.Stats(t.Context(), c.query())
	if err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	total := o.lines(t, c.sql("''"))
	if len(total) == 0 { // without records there is no group
		total = o.lines(t, c.sqlOfNothing())
	}
	groups, count := []string{}, []string{" 0"}
	if c.groupBy != "" {
		groups = o.lines(t, c.sql("COALESCE("+c.group()+", 'null')"))
		count = o.lines(t, c.with()+"SELECT COUNT(DISTINCT "+c.group()+") FROM sel")
	}
	want := append(groups, total...)
	want = append(want, fmt.Sprintf("group_count%s truncated false", count[0]))
	if diff := cmp.Diff(want, statsLines(s, c.metrics)); diff != "" {
		t.Errorf("%s\n(-SQLite +got):\n%s\n%s", encode(t, c.query()), diff, c.sql("COALESCE("+c.group()+", 'null')"))
	}
}

// statsLines formats a result like rows of SQLite.
func statsLines(s estate.Stats, metrics []string) []string {
	figures := []estate.Figures{{Groups: s.Groups, Total: estate.Cell{Value: s.Total}}}
	for _, name := range metrics[1:] {
		figures = append(figures, s.Metrics[name])
	}
	lines := make([]string, len(s.Groups))
	total := " "
	for i, group := range s.Groups {
		lines[i] = " " + group.Key
		for _, f := range figures {
			lines[i] += " " + spellFloat(float64(f.Groups[i].Value))
		}
	}
	for _, f := range figures {
		total += " " + spellFloat(float64(f.Total.Value))
	}
	return append(lines, total, fmt.Sprintf("group_count %d truncated %v", s.GroupCount, s.Truncated))
}

func parse(t testing.TB, text string) *estate.Estate {
	t.Helper()
	e, err := estate.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func encode(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
