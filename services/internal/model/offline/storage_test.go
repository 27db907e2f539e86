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
		{"Total size of volumes per array", "The sum of size_gb over the volumes is 3500; by array:\n- a2: 2000\n- a1: 1500"},
		{"average cpu per room", "The average of cpu_percent over the machines is 51; by room:\n- north: 51.5\n- south: 50\nI took cpu_percent; cpus could be meant as well."},
		{"average cpus per room", "The average of cpus over the machines is 18.667; by room:\n- south: 32\n- north: 12"},
		{"How many machines have a cpu load above 80%?", "1 machine with cpu_percent more than 80."},
		{"Which room has the most memory?", "north: sum memory_gb 96"},
		{"Which room has the highest average cpu_percent?", "north: avg cpu_percent 51.5"},
		{"Top 2 machines by memory", "The first 2 by name of the machines:\n1. m1: 64\n2. m3: 48"},
		{"How many machines have the dmz tag?", "2 machines with dmz in tags."},
		{"How many machines are not tagged dmz?", "1 of 3 machines have no dmz in tags."},
		{"Which machines are untagged?", "1 machine with no value of tags: m3."},
		{"Which machines are unpatched?", "2 machines with patched = false: m2, m3."},
		{"How many machines have 16 or more cpus?", "2 machines with cpus at least 16."},
		{"List volumes larger than 600 GB", "2 volumes with size_gb more than 600: v1, v3."},
		{"How many snapshots do the iron volumes have?", "1: the sum of snapshots.count"},
		{"machines in north with tag old", "1 machine with room north and old in tags: m1."},
		{"Tier breakdown of the a1 volumes", "2 volumes with array a1 by tier:\n- gold: 1\n- iron: 1"},
		{"More gold or more iron volumes?", "iron has more: 2 volumes, against gold 1; a difference of 1."},
		{"How many volumes are there outside a1?", "1 volume with array other than a1."},

		{"How many different alerts are there?", "2 different values of name among the alerts."},
		{"Which machines are not patched in north?", "1 machine with patched = false and room north: m2."},
		{"How many machines are in north or have the old tag?", "I cannot tell which records meet one of two conditions"},
		{"What is the ratio of gold to iron volumes?", "I cannot tell the ratio"},
		{"Which volumes use more than 90 percent?", "I cannot tell which field the number is compared with."},
		{"Which volumes are nearly full?", `The data does not contain "nearly`},
		{"How many machines have both dmz and old?", "I cannot tell two things of tags at a time"},
		{"Machines by tag", "I cannot tell the figures by tags"},
		{"Which room has no machines?", "I cannot tell which values of room have none of the records."},
		{"Percentage of patched machines per room", "I cannot tell what the question means by room."},
		{"How many arm machines are there?", `The data does not contain "arm".`},
		{"Does m1 have more memory than m2?", "I cannot compare by memory_gb; please ask for the figure of each."},
		{"Which machines have the same room as m1?", `The data does not contain "same".`},
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
		"how many hosts are in site a?":     "2 hosts with site a.",
		"how many hosts are not in site a?": "1 host with site other than a.",
	} {
		if got, _ := ask(t, e, question); got != want {
			t.Errorf("%s: got %q, want %q", question, got, want)
		}
	}
}
