package analyze

import (
	"cairn/bus/admission"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cairn/services/internal/estate"
	"cairn/services/internal/model/plan"
)

// hosts has fields with null and missing values, quantities, dates and lists.
const hosts = `{"hosts":[
	{"name":"web-1","site":"fra","os":"linux","cpus":8,"memory":"2048Mi","patched":true,"owner":"ann","seen":"2024-03-01"},
	{"name":"web-2","site":"fra","os":"linux","cpus":4,"memory":"1024Mi","patched":true,"owner":null,"seen":"2024-01-15"},
	{"name":"db-1","site":"muc","os":"linux","cpus":16,"memory":"512Mi","patched":false,"owner":"bob","seen":"2023-12-31"},
	{"name":"db-2","site":"ber","os":"windows","cpus":16,"patched":false,"tags":["old","spare"]},
	{"name":"spare","os":"bsd","patched":true,"owner":"ann"}]}`

// stated returns the statement of a query over the hosts of an estate.
func stated(t *testing.T, text, query string, intent plan.Intent, notes ...string) string {
	t.Helper()
	e, err := estate.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var q estate.Query
	if err := json.Unmarshal([]byte(query), &q); err != nil {
		t.Fatal(err)
	}
	q.DataKey = "hosts"
	stats, err := e.Stats(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return statement{query: q, stats: stats, intent: intent, noun: "hosts", notes: notes}.String()
}

func TestStatementOfCount(t *testing.T) {
	t.Parallel()
	names, yesNo, every := plan.Intent{Names: true}, plan.Intent{YesNo: true}, plan.Intent{YesNo: true, All: true}
	for _, row := range []struct {
		name, query string
		intent      plan.Intent
		want        string
	}{
		{"all records", `{}`, plan.Intent{}, "There are 5 hosts."},
		{"one condition", `{"filter":{"os":"linux"}}`, plan.Intent{}, "3 of 5 hosts have os linux (60%)."},
		{"several conditions, in the order of their fields", `{"filter":{"site":"fra","os":"linux"}}`, plan.Intent{},
			"2 of 5 hosts have os linux and site fra (40%)."},
		{"one record", `{"filter":{"os":"windows"}}`, plan.Intent{}, "1 of 5 hosts has os windows (20%)."},
		{"no record has no share", `{"filter":{"os":"beos"}}`, plan.Intent{}, "0 of 5 hosts have os beos."},
		{"every record has no share", `{"filter":{"name":{"ne":"x"}}}`, plan.Intent{},
			"5 of 5 hosts have name other than x."},
		{"a missing value", `{"filter":{"owner":{"not":{"ne":null}}}}`, plan.Intent{}, "2 of 5 hosts have no owner (40%)."},
		{"a present value", `{"filter":{"owner":{"ne":null}}}`, plan.Intent{}, "3 of 5 hosts have a value of owner (60%)."},
		{"null", `{"filter":{"owner":null}}`, plan.Intent{}, "1 of 5 hosts has owner null (20%)."},
		{"a field that exists", `{"filter":{"owner":{"exists":true}}}`, plan.Intent{},
			"4 of 5 hosts have a value of owner (80%)."},
		{"a field that does not exist", `{"filter":{"owner":{"exists":false}}}`, plan.Intent{},
			"1 of 5 hosts has no owner (20%)."},
		{"a range", `{"filter":{"cpus":{"gte":4,"lt":16}}}`, plan.Intent{},
			"2 of 5 hosts have cpus at least 4 and cpus below 16 (40%)."},
		{"another range", `{"filter":{"cpus":{"gt":4,"lte":16}}}`, plan.Intent{},
			"3 of 5 hosts have cpus above 4 and cpus at most 16 (60%)."},
		{"another value", `{"filter":{"os":{"ne":"linux"}}}`, plan.Intent{}, "2 of 5 hosts have os other than linux (40%)."},
		{"alternatives of one field", `{"filter":{"site":{"in":["fra","muc"]}}}`, plan.Intent{},
			"3 of 5 hosts have site fra or muc (60%)."},
		{"alternatives of several fields", `{"any_of":[{"site":"muc"},{"os":"bsd"}]}`, plan.Intent{},
			"2 of 5 hosts have site muc or os bsd (40%)."},
		{"conditions and alternatives", `{"filter":{"cpus":16},"any_of":[{"site":"muc"},{"os":"windows"}]}`, plan.Intent{},
			"2 of 5 hosts have cpus 16 and site muc or os windows (40%)."},
		{"an element of a list", `{"filter":{"tags":{"contains":"old"}}}`, plan.Intent{}, "1 of 5 hosts has tags old (20%)."},
		{"lists without an element", `{"filter":{"tags":{"not":{"contains":"old"}}}}`, plan.Intent{},
			"4 of 5 hosts have no tags old (80%)."},
		{"a boolean", `{"filter":{"patched":false}}`, plan.Intent{}, "2 of 5 hosts have patched false (40%)."},
		{"a prefix", `{"filter":{"name":{"starts_with":"web"}}}`, plan.Intent{},
			"2 of 5 hosts have name beginning with web (40%)."},

		{"yes", `{"filter":{"os":"linux"}}`, yesNo, "Yes: 3 of 5 hosts have os linux (60%)."},
		{"no", `{"filter":{"os":"beos"}}`, yesNo, "No: 0 of 5 hosts have os beos."},
		{"yes without a condition", `{}`, yesNo, "Yes: There are 5 hosts."},
		{"not all", `{"filter":{"patched":true}}`, every, "No: 3 of 5 hosts have patched true (60%)."},
		{"all", `{"filter":{"name":{"ne":null}}}`, every, "Yes: 5 of 5 hosts have a value of name."},

		{"few names without being asked for", `{"filter":{"os":"linux"},"names":{"limit":10}}`, plan.Intent{},
			"3 of 5 hosts have os linux (60%): web-1, web-2, db-1."},
		{"many names only if asked for", `{"filter":{"os":"linux"},"names":{"limit":2}}`, plan.Intent{},
			"3 of 5 hosts have os linux (60%)."},
		{"names asked for, more than listed", `{"filter":{"os":"linux"},"names":{"limit":2}}`, names,
			"3 of 5 hosts have os linux (60%): web-1, web-2, and 1 more."},
		{"names asked for without a condition", `{"names":{"limit":10}}`, names,
			"There are 5 hosts: web-1, web-2, db-1, db-2, spare."},
		{"names without a condition only if asked for", `{"names":{"limit":10}}`, plan.Intent{}, "There are 5 hosts."},
		{"no names", `{"filter":{"os":"beos"},"names":{"limit":10}}`, names, "0 of 5 hosts have os beos."},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := stated(t, hosts, row.query, row.intent); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

func TestStatementOfGroups(t *testing.T) {
	t.Parallel()
	top, least := plan.Intent{Top: true}, plan.Intent{Top: true, Least: true}
	for _, row := range []struct {
		name, query string
		intent      plan.Intent
		want        string
	}{
		{"few groups in a sentence", `{"group_by":"os"}`, plan.Intent{}, "5 hosts by os: linux: 3; bsd: 1; windows: 1."},
		{"records without a value last", `{"group_by":"owner"}`, plan.Intent{},
			"5 hosts by owner: ann: 2; bob: 1; without a value: 2."},
		{"more groups in a list", `{"group_by":"name"}`, plan.Intent{},
			"5 hosts by name:\n\n- db-1: 1\n- db-2: 1\n- spare: 1\n- web-1: 1\n- web-2: 1"},
		{"groups of a selection", `{"filter":{"os":"linux"},"group_by":"site"}`, plan.Intent{},
			"3 of 5 hosts that have os linux by site: fra: 2; muc: 1."},
		{"no groups", `{"group_by":"color"}`, plan.Intent{}, "None of 5 hosts has a value of color."},
		{"two group fields", `{"filter":{"site":{"ne":null}},"group_by":["site","os"]}`, plan.Intent{},
			"4 of 5 hosts that have a value of site by site, os: fra, linux: 2; ber, windows: 1; muc, linux: 1."},
		{"the largest of two group fields", `{"group_by":["site","os"]}`, top,
			"fra, linux has the most hosts: 2 of 5 (40%), among 4 values of site, os; ber, windows follows with 1."},

		{"the largest, and the next", `{"group_by":"os"}`, top,
			"linux has the most hosts: 3 of 5 (60%), among 3 values of os; bsd follows with 1."},
		{"the largest of a selection", `{"filter":{"os":"linux"},"group_by":"site"}`, top,
			"fra has the most hosts that have os linux: 2 of 3 (66.7%), among 2 values of site; muc follows with 1."},
		{"the largest is not that of no value", `{"filter":{"name":{"ne":"web-1"}},"group_by":"owner"}`, top,
			"ann, bob have the most hosts that have name other than web-1: 1 each of 4 (25%), among 2 values of owner."},
		{"all on a tie", `{"group_by":"name"}`, top,
			"db-1, db-2, spare, web-1, web-2 have the most hosts: 1 each of 5 (20%), among 5 values of name."},
		{"the smallest, on a tie", `{"group_by":"os"}`, least,
			"windows, bsd have the fewest hosts: 1 each of 5 (20%), among 3 values of os; linux follows with 3."},
		{"the largest two", `{"group_by":"site"}`, plan.Intent{Top: true, Limit: 2},
			"5 hosts by site: fra: 2; ber: 1; and 1 more value."},
		{"the smallest two", `{"group_by":"os"}`, plan.Intent{Top: true, Least: true, Limit: 2},
			"5 hosts by os: windows: 1; bsd: 1; and 1 more value."},

		{"totals", `{"group_by":"site","metrics":["sum:cpus"]}`, plan.Intent{},
			"Total cpus of 5 hosts by site: ber: 16; muc: 16; fra: 12; without a value: 0."},
		{"the largest total", `{"group_by":"site","metrics":["sum:cpus"]}`, top,
			"ber, muc have the largest total cpus of 5 hosts: 16 each, among 3 values of site; fra follows with 12."},
		{"the smallest average", `{"group_by":"site","metrics":["avg:cpus"]}`, least,
			"fra has the smallest average cpus of 5 hosts: 6, among 3 values of site; muc follows with 16."},
		{"an average of no numbers is none", `{"group_by":"os","metrics":["avg:cpus"]}`, plan.Intent{},
			"Average cpus of 5 hosts by os: windows: 16; linux: 9.3333; and 1 more value."},
		{"an average of no numbers is not the smallest", `{"group_by":"os","metrics":["avg:cpus"]}`, least,
			"linux has the smallest average cpus of 5 hosts: 9.3333, among 3 values of os; windows follows with 16."},
		{"a percentile", `{"group_by":"os","metrics":["p95:cpus"],"filter":{"os":"windows"}}`, plan.Intent{},
			"95th percentile of cpus of 1 of 5 hosts that have os windows by os: windows: 16."},
		{"dates", `{"group_by":"site","metrics":["min:seen"],"filter":{"seen":{"ne":null}}}`, plan.Intent{},
			"Smallest seen of 3 of 5 hosts that have a value of seen by site: fra: 2024-01-15; muc: 2023-12-31."},
		{"the smallest date", `{"group_by":"site","metrics":["min:seen"]}`, least,
			"muc has the smallest smallest seen of 5 hosts: 2023-12-31, among 3 values of site; fra follows with 2024-01-15."},
		{"different values", `{"group_by":"site","metrics":["distinct:os"]}`, plan.Intent{},
			"Different values of os of 5 hosts by site: ber: 1; fra: 1; muc: 1; without a value: 1."},
		{"totals in another unit", `{"group_by":"site","metrics":["sum:memory"],"filter":{"memory":{"ne":null}}}`,
			plan.Intent{Unit: "GiB"},
			"Total memory of 3 of 5 hosts that have a value of memory by site: fra: 3 GiB; muc: 0.5 GiB."},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := stated(t, hosts, row.query, row.intent); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

func TestStatementOfMeasure(t *testing.T) {
	t.Parallel()
	names := plan.Intent{Top: true, Names: true}
	for _, row := range []struct {
		name, query string
		intent      plan.Intent
		want        string
	}{
		{"a total", `{"metrics":["sum:cpus"]}`, plan.Intent{}, "The total cpus of 5 hosts is 44 (1 without such a value)."},
		{"a total with a unit", `{"metrics":["sum:memory"]}`, plan.Intent{},
			"The total memory of 5 hosts is 3584 Mi (2 without such a value)."},
		{"a total in another unit", `{"metrics":["sum:memory"]}`, plan.Intent{Unit: "GiB"},
			"The total memory of 5 hosts is 3.5 GiB (2 without such a value)."},
		{"a total in a decimal unit", `{"metrics":["sum:memory"]}`, plan.Intent{Unit: "GB"},
			"The total memory of 5 hosts is 3.7581 GB (2 without such a value)."},
		{"a number without a unit stays", `{"metrics":["sum:cpus"]}`, plan.Intent{Unit: "GB"},
			"The total cpus of 5 hosts is 44 (1 without such a value)."},
		{"a unit of something else", `{"metrics":["distinct:os"]}`, plan.Intent{Unit: "GB"},
			"3 different values of os among 5 hosts."},
		{"a total where names are asked for", `{"metrics":["sum:cpus"],"names":{"limit":10}}`, plan.Intent{Names: true},
			"The total cpus of 5 hosts is 44 (1 without such a value)."},
		{"an average of a selection", `{"metrics":["avg:cpus"],"filter":{"patched":true}}`, plan.Intent{},
			"The average cpus of 3 of 5 hosts that have patched true is 6 (1 without such a value)."},
		{"an average with four decimals", `{"metrics":["avg:cpus"],"filter":{"os":"linux"}}`, plan.Intent{},
			"The average cpus of 3 of 5 hosts that have os linux is 9.3333."},
		{"a median", `{"metrics":["p50:cpus"]}`, plan.Intent{}, "The median cpus of 5 hosts is 12 (1 without such a value)."},
		{"a percentile", `{"metrics":["p95:cpus"]}`, plan.Intent{},
			"The 95th percentile of cpus of 5 hosts is 16 (1 without such a value)."},
		{"a date", `{"metrics":["min:seen"]}`, plan.Intent{},
			"The smallest seen of 5 hosts is 2023-12-31 (2 without such a value)."},
		{"no numbers", `{"metrics":["avg:os"]}`, plan.Intent{}, "No value of os among 5 hosts."},
		{"no dates", `{"metrics":["max:seen"],"filter":{"os":"bsd"}}`, plan.Intent{},
			"No value of seen among 1 of 5 hosts that have os bsd."},
		{"different values", `{"metrics":["distinct:os"]}`, plan.Intent{}, "3 different values of os among 5 hosts."},
		{"one value", `{"metrics":["distinct:os"],"filter":{"site":"fra"}}`, plan.Intent{},
			"1 different value of os among 2 of 5 hosts that have site fra."},

		{"the records with the largest value", `{"metrics":["max:cpus"],"top":{"by":"cpus","order":"desc","limit":1}}`, names,
			"Of 5 hosts, db-1 with 16, db-2 with 16 have the largest cpus."},
		{"the record with the smallest quantity", `{"metrics":["min:memory"],"top":{"by":"memory","order":"asc","limit":1}}`,
			names,
			"Of 5 hosts, db-1 with 512 Mi has the smallest memory."},
		{"the record with the smallest quantity in another unit",
			`{"metrics":["min:memory"],"top":{"by":"memory","order":"asc","limit":1}}`,
			plan.Intent{Top: true, Names: true, Unit: "GiB"}, "Of 5 hosts, db-1 with 0.5 GiB has the smallest memory."},
		{"the record with the first date",
			`{"metrics":["min:seen"],"top":{"by":"seen","order":"asc","limit":1},"filter":{"os":"linux"}}`, names,
			"Of 3 of 5 hosts that have os linux, db-1 with 2023-12-31 has the smallest seen."},
		{"the three largest", `{"metrics":["max:cpus"],"top":{"by":"cpus","order":"desc","limit":3}}`, names,
			"Of 5 hosts, db-1 with 16, db-2 with 16, web-1 with 8 have the largest cpus."},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := stated(t, hosts, row.query, row.intent); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

// TestStatementIsEscaped: names and values of the estate, and notes, are literal text.
func TestStatementIsEscaped(t *testing.T) {
	t.Parallel()
	const estate = `{"hosts":[{"name":"<b>","site":"[x](http://y)"},{"name":"a|b","site":"[x](http://y)"},{"name":"# c\n- d","site":"*"}]}`
	for _, row := range []struct {
		name, query string
		notes       []string
		want        string
	}{
		{"names", `{"names":{"limit":10}}`, nil, `There are 3 hosts: &lt;b>, a\|b, \# c - d.`},
		{"values of conditions", `{"filter":{"site":"[x](http://y)"}}`, nil,
			`2 of 3 hosts have site \[x](http\://y) (66.7%).`},
		{"alternatives", `{"filter":{"name":{"in":["<b>","a|b"]}}}`, nil, `2 of 3 hosts have name &lt;b> or a\|b (66.7%).`},
		{"groups", `{"group_by":"site"}`, nil, `3 hosts by site: \[x](http\://y): 2; \*: 1.`},
		{"a field", `{"group_by":"<i>"}`, nil, `None of 3 hosts has a value of &lt;i>.`},
		{"notes", `{}`, []string{`site: "<b>" is written "B"`, "a second"},
			`There are 3 hosts. (site: "&lt;b>" is written "B".) (a second.)`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := stated(t, estate, row.query, plan.Intent{Names: true}, row.notes...); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

// TestStatementOfManyValues: a statement lists 50 groups and 100 names at most, and says how many it omits.
func TestStatementOfManyValues(t *testing.T) {
	t.Parallel()
	many := func(n int) string {
		records := make([]string, n)
		for i := range records {
			records[i] = fmt.Sprintf(`{"name":"h%04d","bytes":%d}`, i, 123_456_789_012_345+i)
		}
		return `{"hosts":[` + strings.Join(records, ",") + `]}`
	}
	for _, row := range []struct {
		name, query string
		records     int
		intent      plan.Intent
		want        string
	}{
		{"more groups than listed", `{"group_by":"name"}`, 60, plan.Intent{}, "\n- h0049: 1\n- and 10 more values"},
		{"more groups than computed", `{"group_by":"name"}`, 1200, plan.Intent{}, "\n- h0049: 1\n- and 1150 more values"},
		{"more groups on a tie than listed", `{"group_by":"name"}`, 60, plan.Intent{Top: true},
			"h0049, and 10 more have the most hosts: 1 each of 60 (1.7%), among 60 values of name."},
		{"the smallest of more groups than computed", `{"group_by":"name"}`, 1200, plan.Intent{Top: true, Least: true},
			"1200 hosts have 1200 values of name, and only the 1000 with the largest figures are known."},
		{"more names than listed", `{"names":{"limit":100}}`, 120, plan.Intent{Names: true}, ", h0099, and 20 more."},
		{"all digits of a large number", `{"metrics":["max:bytes"]}`, 1, plan.Intent{},
			"The largest bytes of 1 hosts is 123456789012345."},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := stated(t, many(row.records), row.query, row.intent); !strings.HasSuffix(got, row.want) {
				t.Errorf("got  %s\nwant %s at its end", got, row.want)
			}
		})
	}
}

// hostTools returns the tools on hosts.
func hostTools(t *testing.T) tools {
	t.Helper()
	e, err := estate.Parse([]byte(hosts))
	if err != nil {
		t.Fatal(err)
	}
	return tools{e, admission.NewLongPool()}
}
