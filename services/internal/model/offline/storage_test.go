package offline_test

import (
	"strings"
	"testing"

	"cairn/services/internal/estate"
)

// storage is a synthetic estate with lists, percentages and capacities.
const storage = `{"machines":[
 {"name":"m1","room":"north","cpus":8,"cpu_percent":91,"memory_gb":64,"patched":true,"tags":["dmz","old"]},
 {"name":"m2","room":"north","cpus":16,"cpu_percent":12,"memory_gb":32,"patched":false,"tags":["dmz"]},
 {"name":"m3","room":"south","cpus":32,"cpu_percent":50,"memory_gb":48,"patched":false,"tags":[]}],
"alerts":[{"name":"disk","at":1},{"name":"disk","at":2},{"name":"fan","at":3}],
"volumes":[
 {"name":"v1","array":"a1","size_gb":1000,"used_gb":200,"tier":"gold","snapshots":{"policy":"daily","count":3}},
 {"name":"v2","array":"a1","size_gb":500,"used_gb":480,"tier":"iron","snapshots":{"policy":"weekly","count":1}},
 {"name":"v3","array":"a2","size_gb":2000,"used_gb":1200,"tier":"iron","snapshots":{"policy":"daily","count":0}}]}`

func TestConditions(t *testing.T) {
	t.Parallel()
	e, err := estate.Parse([]byte(storage))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ question, want string }{
		{"Total size of volumes per array", "3500: the sum of size_gb; by array:\n- a2: 2000\n- a1: 1500\n\nUnderstood as: the sum of size_gb over volumes, by array."},
		{"average cpu per room", `"cpu" is ambiguous: cpu_percent or cpus.`},
		{"average cpus per room", "18.667: the average of cpus; by room:\n- south: 32\n- north: 12\n\nUnderstood as: the average of cpus over machines, by room."},
		{"How many machines have a cpu load above 80%?", "1 machine.\n\nUnderstood as: counting machines where cpu_percent > 80."},
		{"Which room has the most memory?", "north: 96 memory_gb.\n\nUnderstood as: ranking room of machines by sum memory_gb, largest first."},
		{"Which room has the highest average cpu_percent?", "north: 51.5 cpu_percent.\n\nUnderstood as: ranking room of machines by average cpu_percent, largest first."},
		{"Top 2 machines by memory", "The first 2 by name:\n1. m1: 64\n2. m3: 48\n\nUnderstood as: ranking name of machines by largest memory_gb, largest first."},
		{"How many machines have the dmz tag?", "2 machines.\n\nUnderstood as: counting machines where tags contains dmz."},
		{"How many machines are not tagged dmz?", "1 machine.\n\nUnderstood as: counting machines where tags does not contain dmz."},
		{"Which machines are untagged?", "1 machine: m3.\n\nUnderstood as: listing name of machines where tags is not set."},
		{"Which machines are unpatched?", "2 machines: m2, m3.\n\nUnderstood as: listing name of machines where patched = false."},
		{"How many machines have 16 or more cpus?", "2 machines.\n\nUnderstood as: counting machines where cpus ≥ 16."},
		{"How many machines have more than 8 and fewer than 32 cpus?", "1 machine.\n\nUnderstood as: counting machines where cpus > 8 and cpus < 32."},
		{"How many machines have more than 8 and fewer than 40 cpus and are in north or have the dmz tag?", "The combination of conditions is ambiguous."},
		{"What percentage of machines has more than 8 and fewer than 32 cpus?", "It is unclear which of the conditions are asked for."},
		{"List volumes larger than 600 GB", "2 volumes: v1, v3.\n\nUnderstood as: listing name of volumes where size_gb > 600."},
		{"How many snapshots do the iron volumes have?", "1: the sum of snapshots.count"},
		{"machines in north with tag old", "1 machine: m1.\n\nUnderstood as: listing name of machines where room = north and tags contains old."},
		{"More gold or more iron volumes?", "iron has more: 2 volumes, against gold 1; a difference of 1."},
		{"How many volumes are there outside a1?", "1 volume.\n\nUnderstood as: counting volumes where array ≠ a1."},

		{"How many different alerts are there?", "2 different values of name.\n\nUnderstood as: counting the values of name among alerts."},
		{"Which machines are not patched in north?", "1 machine: m2.\n\nUnderstood as: listing name of machines where patched = false and room = north."},
		{"How many machines are in north or have the old tag?", "2 machines.\n\nUnderstood as: counting machines where (room = north or tags contains old)."},
		{"What is the ratio of gold to iron volumes?", "It is unclear which two numeric fields to aggregate."},
		{"Which volumes use more than 90 percent?", "The unit percent cannot be converted to the unit of used_gb."},
		{"Which volumes are nearly full?", `Unknown term "nearly full": no field or value of volumes matches it.`},
		{"How many machines have both dmz and old?", "1 machine.\n\nUnderstood as: counting machines where tags contains dmz and tags contains old."},
		{"Machines by tag", "Grouping by tags is not supported: a record has several values."},
		{"Which room has no machines?", "Questions about values without machines are not supported."},
		{"Percentage of patched machines per room", "The use of field room was not understood."},
		{"How many arm machines are there?", `Unknown term "arm": no field or value of machines matches it.`},
		{"Does m1 have more memory than m2?", "Yes: m1 has more: 64 memory_gb, against m2 32; a difference of 32.\n\nUnderstood as: comparing memory_gb of machines where name = m1 or m2."},
		{"Which machines have the same room as m1?", `Unknown term "same": no field or value of machines matches it.`},
	} {
		t.Run(row.question, func(t *testing.T) {
			t.Parallel()
			if got, calls := ask(t, e, row.question); !strings.HasPrefix(got, row.want) {
				t.Errorf("got %q\nwant %q\nafter %s", got, row.want, calls)
			}
		})
	}
}

func TestValueNamedLikeArticle(t *testing.T) {
	t.Parallel()
	e, err := estate.Parse([]byte(`{"hosts":[{"n":1,"site":"a"},{"n":2,"site":"b"},{"n":3,"site":"a"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for question, want := range map[string]string{
		"how many hosts are in site a?":     "2 hosts.\n\nUnderstood as: counting hosts where site = a.",
		"how many hosts are not in site a?": "1 host.\n\nUnderstood as: counting hosts where site ≠ a.",
	} {
		if got, _ := ask(t, e, question); got != want {
			t.Errorf("%s: got %q, want %q", question, got, want)
		}
	}
}
