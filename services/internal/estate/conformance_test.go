package estate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/services/internal/estate"
)

// conformance has the rules of the manual page "How an estate is read".
var conformance = []struct{ name, text, query, want string }{
	// Arrays.
	{"arrays inside records are arrays", aws, `{"data_key":"Reservations.Instances"}`, `{"total":3,"records":3}`},
	{"at any depth", aws, `{"data_key":"Reservations.Instances.Tags","filter":{"Key":"env"}}`, `{"total":2}`},
	{"with the fields of the enclosing record", aws, `{"data_key":"Reservations.Instances","group_by":"parent.Owner"}`,
		`{"groups":{"x":2,"y":1}}`},
	{"and of the one around it", aws, `{"data_key":"Reservations.Instances.Tags","group_by":"parent.parent.Owner"}`,
		`{"groups":{"x":3,"y":1}}`},
	{"a field parent of the record takes precedence", `{"a":[{"n":1,"b":[{"parent":{"n":2}},{}]}]}`,
		`{"data_key":"a.b","group_by":"parent.n"}`, `{"groups":{"2":1,"null":1}}`},
	{"a map of records is an array", maps, `{"data_key":"hosts","group_by":"os"}`, `{"groups":{"linux":2,"aix":1}}`},
	{"whose field key has the names", maps, `{"data_key":"hosts","filter":{"key":"b"},"metrics":["sum:cpus"]}`,
		`{"total":4}`},
	{"a field key of the records takes precedence", `{"m":{"a-1":{"key":"x"},"b-2":{"key":"y"}}}`,
		`{"data_key":"m","names":{"field":"key"}}`, `{"names":[{"name":"x"},{"name":"y"}]}`},
	{"key() is always the name", `{"m":{"a-1":{"key":"x"},"b-2":{"key":"y"}}}`,
		`{"data_key":"m","names":{"field":"key()"}}`, `{"names":[{"name":"a-1"},{"name":"b-2"}]}`},
	{"a map of one record whose name is no identifier", `{"m":{"h1.example.net":{"os":"linux"}}}`, `{"data_key":"m"}`,
		`{"total":1}`},
	{"two like objects with identifiers as names are no map", `{"m":{"limits":{"cpu":1},"requests":{"cpu":2}}}`,
		`{"data_key":"m"}`, ``},
	{"objects of different shapes are no map", `{"m":{"meta":{"name":"x"},"spec":{"size":2},"status":{"ok":true}}}`,
		`{"data_key":"m"}`, ``},
	{"an object with a text is no map", `{"m":{"a-1":{"x":1},"b-2":{"x":2},"kind":"hosts"}}`, `{"data_key":"m"}`, ``},
	{"a null is no record of a map", `{"m":{"a-1":{"x":1},"b-2":null}}`, `{"data_key":"m"}`, `{"total":1}`},
	{"a map at the top is items", `{"h-1":{"os":"aix"},"h-2":{"os":"aix"}}`, `{"data_key":"items","group_by":"os"}`,
		`{"groups":{"aix":2}}`},
	{"the last of equal names of a map counts", `{"m":{"a-1":{"x":1},"a-1":{"x":2}}}`, `{"data_key":"m","group_by":"x"}`,
		`{"groups":{"2":1},"total":1}`},
	{"maps inside records are arrays", `[{"n":{"eth-0":{"up":true},"eth-1":{"up":false}}},{"n":{"eth-0":{"up":true}}}]`,
		`{"data_key":"items.n","group_by":"key","filter":{"up":true}}`, `{"groups":{"eth-0":2}}`},
	{"and their members are fields too", `[{"n":{"eth-0":{"up":true},"eth-1":{"up":false}}},{"n":{"eth-0":{"up":true}}}]`,
		`{"filter":{"n.eth-1":{"exists":true}}}`, `{"total":1}`},
	{"a recursive array has all depths", tree, `{"data_key":"disks.**","group_by":"type"}`,
		`{"groups":{"disk":2,"part":2,"lvm":1}}`},
	{"also of arrays inside its records", modules, `{"data_key":"root.**.resources","group_by":"type"}`,
		`{"groups":{"vm":3,"net":1}}`},
	{"with the fields of the enclosing record if there is one", modules,
		`{"data_key":"root.**.resources","group_by":"parent.address"}`, `{"groups":{"module.a":1,"module.a.b":1,"null":2}}`},
	{"arrays of arrays", `[{"v":[[1,"5"],[2,"7"]]}]`, `{"data_key":"items.v","metrics":["sum:value.1"]}`, `{"total":12}`},
	{"objects that follow each other are items", "{\"a\":1}\n{\"a\":2}\n", `{"metrics":["sum:a"]}`, `{"total":3}`},
	{"a byte order mark is ignored", "\uFEFF[{\"a\":1}]", `{}`, `{"total":1}`},
	// Fields.
	{"key/value lists are fields", aws, `{"data_key":"Reservations.Instances","group_by":"Tags.env"}`,
		`{"groups":{"prod":1,"dev":1,"null":1},"coverage":{"Tags.env":{"missing":1}}}`},
	{"with lower-case names",
		`[{"env":[{"name":"A.B","value":"1"},{"name":"C","value":"2"}]},{"env":[{"key":"C","value":"3"}]}]`,
		`{"filter":{"env.A.B":"1"}}`, `{"total":1}`},
	{"the last of equal keys counts", `[{"t":[{"Key":"a","Value":"1"},{"Key":"a","Value":"2"}]}]`, `{"group_by":"t.a"}`,
		`{"groups":{"2":1}}`},
	{"positions", `[{"v":[10,"x"]},{"v":[20,"y"]}]`, `{"metrics":["sum:v.0"]}`, `{"total":30}`},
	{"the length of a list", `[{"d":[1,2]},{"d":[]},{}]`, `{"metrics":["sum:d:length"]}`, `{"total":2}`},
	{"names with dots, slashes and blanks", `[{"labels":{"app.kubernetes.io/name":"web"},"host name":"a"}]`,
		`{"filter":{"labels.app.kubernetes.io/name":"web","host name":"a"}}`, `{"total":1}`},
	{"an empty label is set", `[{"l":{"role/x":""}},{"l":{}}]`, `{"filter":{"l.role/x":{"exists":true}}}`, `{"total":1}`},
	{"another case of a name is a note", `[{"InstanceType":"x"}]`, `{"group_by":"instancetype"}`,
		`{"groups":{"null":1},"note":"no selected record has the field \"instancetype\"; did you mean InstanceType?; the fields are InstanceType"}`},
	// Lists.
	{"a list groups by element", lists, `{"group_by":"t"}`, `{"groups":{"a":2,"b":1,"null":2},"total":4}`},
	{"distinct counts elements", lists, `{"metrics":["distinct:t"]}`, `{"total":2}`},
	{"contains matches elements", lists, `{"filter":{"t":{"contains":"a"}}}`, `{"total":2}`},
	{"objects are no groups", `[{"s":{"code":1}},{"s":{"code":2}}]`, `{"group_by":"s"}`, `group by one of s.code`},
	{"lists of objects are no groups", aws, `{"data_key":"Reservations","group_by":"Instances"}`,
		`use data_key "Reservations.Instances"`},
	// Texts as numbers.
	{"numbers in text", `[{"n":"7"},{"n":"10"},{"n":"1,024"},{"n":""}]`, `{"metrics":["sum:n"]}`,
		`{"total":1041,"coverage":{"n":{"read_as":"number","skipped":1}}}`},
	{"and numbers", `[{"n":7},{"n":"10"},{"n":"9"}]`, `{"metrics":["sum:n"]}`, `{"total":26}`},
	{"compare as numbers", `[{"n":"900"},{"n":"1000"},{"n":"1500"}]`, `{"filter":{"n":{"gt":"1000"}}}`, `{"total":1}`},
	{"with numbers too", `[{"n":"900"},{"n":"1000"},{"n":"1500"}]`, `{"filter":{"n":{"gte":1000}}}`, `{"total":2}`},
	{"not beside other texts", `[{"n":"7"},{"n":"x"},{"n":3}]`, `{"metrics":["sum:n"]}`,
		`{"total":3,"coverage":{"n":{"skipped":2}}}`},
	{"NaN in text is no number", `[{"n":"1.5"},{"n":"NaN"}]`, `{"metrics":["sum:n"]}`,
		`{"total":1.5,"coverage":{"n":{"read_as":"number","skipped":1}}}`},
	{"equality stays strict in type", `[{"n":"7"}]`, `{"filter":{"n":7}}`,
		`{"total":0,"note":"\"n\" has \"7\" as a string: equality is strict in type"}`},
	{"quantities", `[{"m":"128Mi"},{"m":"1Gi"},{"m":"1Gi"}]`, `{"metrics":["sum:m"]}`, `{"total":2176,"unit":"Mi"}`},
	{"decimal and binary units", `[{"m":"1G"},{"m":"1Ki"}]`, `{"metrics":["max:m"]}`, `{"total":976562.5,"unit":"Ki"}`},
	{"CPUs", `[{"c":"250m"},{"c":"2"},{"c":1}]`, `{"metrics":["sum:c"]}`, `{"total":3250,"unit":"m"}`},
	{"percents", `[{"u":"25%"},{"u":"75%"}]`, `{"metrics":["avg:u"],"filter":{"u":{"lt":80}}}`, `{"total":50,"unit":"%"}`},
	{"quantities compare", `[{"m":"900Mi"},{"m":"1Gi"}]`, `{"filter":{"m":{"gte":"1Gi"}}}`, `{"total":1}`},
	{"with a unit", `[{"m":"900Mi"},{"m":"1Gi"}]`, `{"filter":{"m":{"gte":512}}}`, `expected one with a unit`},
	{"group names stay the text", `[{"m":"1024Mi"},{"m":"1Gi"}]`, `{"group_by":"m"}`, `{"groups":{"1024Mi":1,"1Gi":1}}`},
	// Dates.
	{"dates with offsets compare as instants",
		`[{"t":"2026-10-31T23:30:00-05:00"},{"t":"2026-11-01T00:10:00Z"},{"t":"2026-11-01T03:00:00+09:00"}]`,
		`{"filter":{"t":{"lt":"2026-11-01T00:00:00Z"}}}`, `{"total":1}`},
	{"with a month", `[{"t":"2026-10-31T23:30:00-05:00"},{"t":"2026-11-01T00:10:00Z"}]`,
		`{"filter":{"t":{"gte":"2026-11"}}}`, `{"total":2}`},
	{"dates of HTTP", `[{"t":"Mon, 02 Jan 2006 15:04:05 GMT"},{"t":"Tue, 03 Jan 2006 15:04:05 GMT"}]`,
		`{"filter":{"t":{"gt":"2006-01-03"}}}`, `{"total":1}`},
	{"seconds since 1970 in a field named as a time", `[{"created":1735689600},{"created":1767225600}]`,
		`{"group_by":"created:year"}`, `{"groups":{"2025":1,"2026":1}}`},
	{"compare with dates", `[{"created":1735689600},{"created":1767225600}]`, `{"filter":{"created":{"lt":"2025-06-01"}}}`,
		`{"total":1}`},
	{"parts of dates", `[{"t":"2026-10-31T23:30:00Z"},{"t":"2026-11-01"}]`, `{"group_by":"t:month"}`,
		`{"groups":{"2026-10":1,"2026-11":1}}`},
	{"weekdays", `[{"t":"2026-11-28"}]`, `{"group_by":"t:weekday"}`, `{"groups":{"Saturday":1}}`},
	{"the first date", `[{"g":"a","t":"2026-11-01T03:00:00+09:00"},{"g":"a","t":"2026-11-01T00:10:00Z"}]`,
		`{"group_by":"g","metrics":["min:t"]}`,
		`{"groups":{"a":2},"total":2,"metrics":{"min:t":{"groups":{"a":"2026-11-01T03:00:00+09:00"},"total":"2026-11-01T03:00:00+09:00"}}}`},
	{"the first text", `[{"t":"b"},{"t":"a"}]`, `{"metrics":["min:t"]}`,
		`{"total":2,"metrics":{"min:t":{"groups":{},"total":"a"}}}`},
	// Groups.
	{"the first text may be empty", `[{"t":"b"},{"t":""}]`, `{"metrics":["min:t"]}`,
		`{"metrics":{"min:t":{"groups":{},"total":""}}}`},
	{"dates differ by nanoseconds",
		`[{"name":"a","t":"2026-01-01T00:00:00.1234567Z"},{"name":"b","t":"2026-01-01T00:00:00.1234569Z"}]`,
		`{"top":{"by":"t"},"filter":{"t":{"gt":"2026-01-01T00:00:00.1234568Z"}}}`,
		`{"names":[{"name":"b","value":"2026-01-01T00:00:00.1234569Z"}]}`},
	{"numbers in text compare with numbers of another field", `[{"used":"5","size":10},{"used":"50","size":10}]`,
		`{"filter":{"used":{"gt":{"field":"size"}}}}`, `{"total":1}`},
	{"dates compare with seconds since 1970",
		`[{"end":"2020-01-02T00:00:00Z","start_time":1767225600},{"end":"2026-02-01","start_time":1767225600}]`,
		`{"filter":{"end":{"gt":{"field":"start_time"}}}}`, `{"total":1}`},
	{"quantities compare with quantities of another field", `[{"used":"1Gi","size":"512Mi"},{"used":"1Mi","size":"1Gi"}]`,
		`{"filter":{"used":{"gt":{"field":"size"}}}}`, `{"total":1}`},
	{"an operand of another type is refused", `[{"t":"2026-01-02"}]`, `{"filter":{"t":{"gt":5}}}`,
		`the values of "t" are dates`},
	{"numbers too", `[{"n":1}]`, `{"filter":{"n":{"gt":"2026-01-01"}}}`, `the values of "n" are numbers`},
	{"never is no date", `[{"t":"2026-01-02"},{"t":"never"}]`, `{"metrics":["max:t"]}`,
		`{"metrics":{"max:t":{"groups":{},"total":"2026-01-02"}},"coverage":{"t":{"read_as":"date","skipped":1}}}`},
	{"values without the part are missing", `[{"t":"2026-01-02"},{"t":""}]`, `{"group_by":"t:day"}`,
		`{"groups":{"2026-01-02":1,"null":1},"coverage":{"t:day":{"missing":1}}}`},
	{"a list of null has no element", `[{"t":["a"]},{"t":[null]}]`, `{"group_by":"t"}`,
		`{"groups":{"a":1,"null":1},"group_count":1}`},
	{"top by an absent field", `[{"a":1}]`, `{"top":{"by":"b"}}`,
		`{"note":"no selected record has the field \"b\"; the fields are a"}`},
	{"conditions on groups are numbers", `[{"a":1}]`, `{"group_by":"a","having":{"count":{"gt":"1Gi"}}}`,
		`having "count": expected a number`},
	{"dates beside other texts compare", `[{"d":"2024-01-01"},{"d":"2024-02-01"},{"d":"pending"}]`,
		`{"filter":{"d":{"gt":"2024-01-15"}}}`,
		`{"total":1,"note":"values of \"d\" that do not compare with 2024-01-15 and do not match: 1"}`},
	{"numbers beside other texts compare with numbers", `[{"n":"5"},{"n":"7"},{"n":"5 apples"}]`,
		`{"filter":{"n":{"gt":5}}}`, `{"total":1}`},
	{"no time of an epoch", `[{"created_at":1700000000},{"created_at":1600000000},{"created_at":0}]`,
		`{"filter":{"created_at":{"gte":"2023"}}}`, `{"total":1}`},
	{"a month compares with dates beside other texts", `[{"d":"2024-01-01"},{"d":"2024-02-01"},{"d":"pending"}]`,
		`{"filter":{"d":{"gte":"2024-02"}}}`, `{"total":1}`},
	{"an absent field to compare with is noted", `[{"a":1}]`, `{"filter":{"a":{"gt":{"field":"b"}}}}`,
		`{"total":0,"note":"no record has the field \"b\""}`},
	{"a lookup of the array itself", `[{"id":1,"p":2,"n":"A"},{"id":2,"p":3,"n":"B"},{"id":3,"p":null,"n":"C"}]`,
		`{"group_by":["p.n"],"lookup":{"p":{"data_key":"items","field":"id"}}}`, `{"groups":{"B":1,"C":1,"null":1}}`},
	{"values of different types are noted", `{"a":[{"id":5}],"b":[{"a":"5"}]}`,
		`{"data_key":"a","filter":{"id":{"in":{"data_key":"b","field":"a"}}}}`,
		`{"total":0,"note":"\"id\" and \"a\" of \"b\" have values of different types: in is strict in type"}`},
	{"escaped letters in lists without case", `[{"t":["\u00c9A"]}]`,
		`{"filter":{"t":{"contains":"éa","ignore_case":true}}}`, `{"total":1}`},
	{"not keeps the option", `[{"t":"A"},{"t":"b"}]`, `{"filter":{"t":{"not":{"eq":"a"},"ignore_case":true}}}`,
		`{"total":1}`},
	{"order knows no case", `[{"t":"A"}]`, `{"filter":{"t":{"gt":"a","ignore_case":true}}}`, `ignore_case applies to`},
	{"unknown fields of alternatives are noted", `[{"a":1}]`, `{"any_of":[{"b":1}]}`,
		`{"total":0,"note":"no selected record has the field \"b\"; the fields are a"}`},
	{"figures over groups of a date are refused", `[{"a":1,"d":"2026-01-01"}]`,
		`{"group_by":"a","metrics":["max:d"],"over_groups":["max"]}`, `is no number`},
	{"a complex expression is refused", `[{"a":"x"}]`, `{"filter":{"a":{"matches":"(?:.{0,900}z|.{0,90}y)$"}}}`,
		`instructions, expected at most 100`},
	{"bytes have a unit", `[{"m":"1024"},{"m":"1Ki"}]`, `{"metrics":["sum:m"]}`, `{"total":2048,"unit":"B"}`},
	{"coverage of two metrics of a field", `[{"d":"2026-01-01"},{"d":""}]`, `{"metrics":["count","avg:d","max:d"]}`,
		`{"coverage":{"d":{"read_as":"date","skipped":2}}}`},
	{"a missing value is not less than a text", `[{"a":"x"},{}]`, `{"filter":{"a":{"lte":"y"}}}`, `{"total":1}`},
	{"nor begins with a text", `[{"a":"x"},{},{"a":null}]`, `{"filter":{"a":{"starts_with":""}}}`, `{"total":1}`},
	{"nor matches", `[{"a":"x"},{}]`, `{"filter":{"a":{"matches":".*"}}}`, `{"total":1}`},
	{"several group fields", aws,
		`{"data_key":"Reservations.Instances","group_by":["parent.Owner","State"],"metrics":["count","avg:Cpus"]}`,
		`{"groups":{},"total":3,"rows":[{"by":["x","on"],"value":2,"metrics":{"avg:Cpus":3}},{"by":["y","off"],"value":1,"metrics":{"avg:Cpus":8}}],
		"metrics":{"avg:Cpus":{"groups":{},"total":4.66666666666667}},"group_count":2}`},
	{"conditions on groups", aws,
		`{"data_key":"Reservations.Instances","group_by":"parent.Owner","having":{"count":{"gt":1}}}`,
		`{"groups":{"x":2},"group_count":1}`},
	{"figures over groups", aws,
		`{"data_key":"Reservations.Instances","group_by":"parent.Owner","over_groups":["avg","max","count"]}`,
		`{"over_groups":{"avg":1.5,"max":2,"count":2}}`},
	// Names.
	{"names of records", aws, `{"data_key":"Reservations.Instances","names":{"limit":2}}`,
		`{"names":[{"name":"i-1"},{"name":"i-2"}],"more_names":1}`},
	{"the extreme records", aws, `{"data_key":"Reservations.Instances","top":{"by":"Cpus"}}`,
		`{"names":[{"name":"i-3","value":8}]}`},
	{"with ties", `[{"name":"a","n":1},{"name":"b","n":2},{"name":"c","n":2}]`, `{"top":{"by":"n"}}`,
		`{"names":[{"name":"b","value":2},{"name":"c","value":2}]}`},
	{"by a date", `[{"name":"a","t":"2026-01-02"},{"name":"b","t":"2025-01-02"}]`, `{"top":{"by":"t","order":"asc"}}`,
		`{"names":[{"name":"b","value":"2025-01-02"}]}`},
	// Other arrays.
	{"values of another array", joins,
		`{"data_key":"projects","filter":{"name":{"in":{"data_key":"buckets","field":"project"}}},"names":{}}`,
		`{"total":1,"names":[{"name":"p1"}]}`},
	{"negated", joins,
		`{"data_key":"projects","filter":{"name":{"not":{"in":{"data_key":"buckets","field":"project","filter":{"public":true}}}}}}`,
		`{"total":1}`},
	{"lookup", joins,
		`{"data_key":"buckets","lookup":{"project":{"data_key":"projects","field":"name"}},"group_by":"project.owner"}`,
		`{"groups":{"ann":2,"null":1}}`},
	{"share", joins, `{"data_key":"buckets","filter":{"public":true},"share":{"of":{"project":"p1"}}}`,
		`{"share":{"records":1,"of":2,"percent":50}}`},
	// Conditions.
	{"starts_with", `[{"a":"web-1"},{"a":"db-1"}]`, `{"filter":{"a":{"starts_with":"web"}}}`, `{"total":1}`},
	{"matches", `[{"a":"web-1"},{"a":"web-x"}]`, `{"filter":{"a":{"matches":"^web-[0-9]+$"}}}`, `{"total":1}`},
	{"without case", `[{"a":"Active"},{"a":"ACTIVE"},{"a":"off"}]`, `{"filter":{"a":{"eq":"active","ignore_case":true}}}`,
		`{"total":2}`},
	{"other spellings are in the note", `[{"a":"in-use"},{"a":"In_Use"},{"a":"off"}]`, `{"filter":{"a":"in-use"}}`,
		`{"total":1,"note":"\"a\" also has \"In_Use\" (1)"}`},
	{"integers beyond 2^53 are exact", `[{"n":9007199254740993},{"n":9007199254740992}]`,
		`{"filter":{"n":9007199254740993},"group_by":"n"}`, `{"groups":{"9007199254740993":1}}`},
	{"an array of scalars and objects", `["x",{"a":1},7]`, `{"group_by":"value"}`, `{"groups":{"x":1,"7":1,"null":1}}`},
}

const (
	aws = `{"Reservations":[
		{"Owner":"x","Instances":[{"InstanceId":"i-1","State":"on","Cpus":2,"Tags":[{"Key":"env","Value":"prod"},{"Key":"team","Value":"a"}]},
			{"InstanceId":"i-2","State":"on","Cpus":4,"Tags":[{"Key":"env","Value":"dev"}]}]},
		{"Owner":"y","Instances":[{"InstanceId":"i-3","State":"off","Cpus":8,"Tags":[{"Key":"team","Value":"b"}]}]}]}`
	maps = `{"hosts":{"a":{"os":"linux","cpus":2},"b":{"os":"linux","cpus":4},"c":{"os":"aix"}}}`
	tree = `{"disks":[{"name":"a","type":"disk","c":[{"name":"a1","type":"part","c":[{"name":"v","type":"lvm"}]},{"name":"a2","type":"part"}]},
		{"name":"b","type":"disk"}]}`
	modules = `{"root":{"resources":[{"type":"vm","name":"r1"},{"type":"net","name":"r2"}],"child_modules":[{"address":"module.a",
		"resources":[{"type":"vm","name":"r3"}],"child_modules":[{"address":"module.a.b","resources":[{"type":"vm","name":"r4"}]}]}]}}`
	lists = `[{"t":["a","b"]},{"t":["a","a"]},{"t":[]},{}]`
	joins = `{"projects":[{"name":"p1","owner":"ann"},{"name":"p2","owner":"bob"}],
		"buckets":[{"id":1,"project":"p1","public":false},{"id":2,"project":"p1","public":true},{"id":3,"project":"p9","public":false}]}`
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, row := range conformance {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s, err := parse(t, row.text).Stats(t.Context(), query(t, row.query))
			if !strings.HasPrefix(row.want, "{") {
				if unknown := new(estate.UnknownKeyError); err == nil || !strings.Contains(err.Error(), row.want) ||
					errors.As(err, &unknown) != (row.want == "") {
					t.Errorf("error %v, want %q", err, row.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var want, got map[string]any
			if err := errors.Join(json.Unmarshal([]byte(row.want), &want),
				json.Unmarshal([]byte(encode(t, s)), &got)); err != nil {
				t.Fatal(err)
			}
			for name := range got {
				if _, ok := want[name]; !ok {
					delete(got, name)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestInputFormats checks the errors of texts that are no JSON.
func TestInputFormats(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ text, want string }{
		"truncated": {`{"a":[{"b":1},`,
			"line 1, column 15): unexpected end of text: expected a value; the JSON may be truncated"},
		"CSV":                      {"name,os\na,linux\nb,aix\n", "the text may be CSV"},
		"YAML":                     {"hosts:\n- name: a\n", "the text may be YAML"},
		"a YAML document":          {"---\na: 1\n", "the text may be YAML"},
		"UTF-16":                   {"\xff\xfe[\x00]\x00", "UTF-16"},
		"XML":                      {"<a/>", "XML"},
		"a sequence with an array": {"{\"a\":1}\n[1]\n", "expected nothing after the value"},
		"a sequence cut short":     {"{\"a\":1}\n{\"a\":", "line 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := estate.Parse([]byte(row.text))
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want one with %q", err, row.want)
			}
		})
	}
}

func TestContents(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		aws: `{"available":["Reservations","Reservations.Instances","Reservations.Instances.Tags"],` +
			`"arrays":[{"data_key":"Reservations","count":2},{"data_key":"Reservations.Instances","count":3},{"data_key":"Reservations.Instances.Tags","count":4}]}`,
		`{"a":1,"b":{"c":2}}`: `{"available":[],"arrays":[],"note":"the JSON is one object without an array and without a map of like objects; its members are a, b"}`,
		`{}`:                  `{"available":[],"arrays":[],"note":"the JSON is an empty object"}`,
		`7`:                   `{"available":[],"arrays":[],"note":"the JSON is a number, not an array or an object with arrays"}`,
	} {
		if got := encode(t, parse(t, text).Contents()); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

func TestDetails(t *testing.T) {
	t.Parallel()
	schema, err := parse(t, `{"hosts":[{"name":"a","size":"1Gi","up":true,"t":"2026-01-01","tags":["x","y"],"project":"p1","nics":[{"mac":"1"}]},
		{"name":"b","size":"2Gi","up":false,"t":"2026-01-02","tags":["x"],"project":"p2"},{"name":"c","project":"p2"}],
		"projects":[{"name":"p1"},{"name":"p2"},{"name":"p3"}]}`).Inspect(t.Context(), "hosts")
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"name":"name","type":"text","share":1,"distinct":3,"values":[["a",1],["b",1],["c",1]]},` +
		`{"name":"size","type":"quantity","unit":"Gi","share":0.6667,"distinct":2,"values":[["1Gi",1],["2Gi",1]]},` +
		`{"name":"up","type":"boolean","share":0.6667,"distinct":2,"values":[["true",1],["false",1]]},` +
		`{"name":"t","type":"date","share":0.6667,"distinct":2,"values":[["2026-01-01",1],["2026-01-02",1]]},` +
		`{"name":"tags","type":"list","share":0.6667,"distinct":2,"values":[["x",2],["y",1]]},` +
		`{"name":"project","type":"text","share":1,"distinct":2,"values":[["p2",2],["p1",1]]},` +
		`{"name":"nics","type":"list","share":0.3333}]`
	if got := encode(t, schema.Details); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	rest := fmt.Sprint(encode(t, schema.Arrays), encode(t, schema.References), schema.NameField)
	if want := `[{"data_key":"hosts.nics","count":1}][{"field":"project","data_key":"projects","to":"name"}]name`; rest != want {
		t.Errorf("got  %s\nwant %s", rest, want)
	}
}

// TestPositions checks that the elements of lists of different types are described.
func TestPositions(t *testing.T) {
	t.Parallel()
	e := parse(t, `{"result":[{"value":[1700000000.5,"1"],"tags":["a","b"]},{"value":[1700000060,"0"],"tags":["c","d"]}]}`)
	schema, err := e.Inspect(t.Context(), "result")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(schema.Details[0].Positions, schema.Details[1].Positions); got != "[value.0 value.1] []" {
		t.Errorf("positions %s", got)
	}
}

// budget is a memory of a number of bytes.
type budget struct{ free, held int64 }

func (b *budget) Acquire(bytes int64) bool {
	if bytes > b.free {
		return false
	}
	b.free, b.held = b.free-bytes, b.held+bytes
	return true
}

func (b *budget) Release(bytes int64) { b.free, b.held = b.free+bytes, b.held-bytes }

// TestMemory checks that a computation which needs more memory than there is fails, and that all memory is released.
func TestMemory(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&text, `{"a":%d,"b":[{"c":%d}]},`, i, i)
	}
	e := parse(t, `[`+text.String()+`{}]`)
	for _, q := range []string{
		`{"group_by":"a","metrics":["count","sum:a","avg:a","p50:a","p95:a","distinct:a"]}`,
		`{"data_key":"items.b","group_by":["c","parent.a"]}`,
		`{"filter":{"a":{"in":{"data_key":"items.b","field":"c"}}},"top":{"by":"a"}}`,
	} {
		for _, bytes := range []int64{1 << 10, 1 << 20, 4 << 20} {
			b := &budget{free: bytes}
			if _, err := e.Stats(estate.WithMemory(t.Context(), b), query(t, q)); !errors.Is(err, estate.ErrMemory) {
				t.Errorf("%s with %d bytes: error %v", q, bytes, err)
			}
			if b.held != 0 {
				t.Errorf("%s with %d bytes: %d are not released", q, bytes, b.held)
			}
		}
		b := &budget{free: 1 << 30}
		if _, err := e.Stats(estate.WithMemory(t.Context(), b), query(t, q)); err != nil || b.held != 0 {
			t.Errorf("%s: error %v, %d bytes are not released", q, err, b.held)
		}
	}
}

// TestDeepRecursion checks that arrays of a deep recursion are complete, or not offered.
func TestDeepRecursion(t *testing.T) {
	t.Parallel()
	for depth, want := range map[int]int{1: 2, 20: 21, 32: 33, 33: 0, 100: 0} {
		text := strings.Repeat(`{"name":"x","c":[`, depth) + `{"name":"y"}` + strings.Repeat(`]}`, depth)
		e := parse(t, `[`+text+`]`)
		if got := e.Count("items.**"); got != want {
			t.Errorf("depth %d: %d records, want %d", depth, got, want)
		}
	}
}
