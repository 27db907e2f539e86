package offline_test

import (
	"strings"
	"testing"
)

// TestHosts asks about an array whose name is a verb too.
func TestHosts(t *testing.T) {
	t.Parallel()
	e := synthetic(t, "testdata/hosts.json")
	for _, row := range []struct{ question, want string }{
		{"What is the host with the most memory?", "db2: 128 memory_gb"},
		{"What is the powered host with the most memory?", "db2: 128 memory_gb"},
		{"Which powered host has the second most memory?", "db1: 64 memory_gb"},
		{"What is the site with the most hosts?", "bergen, oslo: 3 hosts each"},
		{"Count hosts by powered", "6 hosts by powered"},
		{"Which hosts start with db?", "2 hosts: db1, db2"},
		{"How many hosts have 8 cpus or 64 GB?", "3 hosts"},
		{"How many hosts have more than 8 cpus or less than 8 GB?", "3 hosts"},
		{"How many hosts were installed in 2025 or 2026?", "3 hosts"},
		{"How many hosts were installed in 2025 and 2026?", "Two conditions on installed cannot be combined"},
		{"How many cpus and how much memory do we have?", "Ask one question at a time."},
		{"What is the memory of the host with the most cpus?", "Ask which of the hosts it is first."},
		{"How many sites and hosts are there?", "Ask one question at a time."},
		{"How many hosts and tickets are there?", "Ask one question at a time."},
		{"What is the total number of cpus and hosts?", "Ask one question at a time."},
		{"Which host has the most cpus and memory?", "Ask one question at a time."},
		{"How many hosts are in Oslo and Bergen?", "6 hosts"},
		{"How many network tickets are there?", "1 ticket"},
		{"How many tickets are in the default queue?", "1 ticket"},
		{"How many tickets are for groups?", "2 tickets"},
		{"How many linux tickets are there?", `Unknown term "linux"`},
		{"How many different switches are there?", "2 different values of switch"},
		{"How many hosts have at least 8 cpus or 64 GB?", `It is unclear whether "≥" applies to 64 too.`},
		{"How many tickets have exactly one label?", "Counting the values of labels in a record is not supported."},
		{"How many tickets have a label?", "2 tickets"},
		{"Who owns the host with the most memory?", "Ask which of the hosts it is first."},
		{"How many disabled hosts are there?", "2 hosts"},
		{"How many hosts are disabled?", "2 hosts"},
		{"How many hosts are enabled?", "4 hosts"},
		{"How many hosts are not disabled?", "4 hosts"},
		{"How many hosts are down?", "2 hosts"},
		{"How many hosts are up or in maintenance?", "4 hosts"},
		{"Which host is down in Oslo?", "None: 0 hosts"},
		{"What are the top 3 hosts?", `"hosts" is the name of hosts, but not of tickets.`},
		{"What are the top 2 hosts by memory?", "The first 2 by name:\n1. db2: 128"},
		{"What are the top 3?", "The question was not understood."},
		{"How many default tickets are there?", `"default" is ambiguous: Default queue or Old default queue.`},
		{"How many owned hosts are in Oslo?", `Unknown term "owned"`},
		{"How many published hosts are there?", `Unknown term "published"`},
	} {
		t.Run(row.question, func(t *testing.T) {
			t.Parallel()
			if got, calls := ask(t, e, row.question); !strings.HasPrefix(got, row.want) {
				t.Errorf("got %q\nwant %q\nafter %s", got, row.want, calls)
			}
		})
	}
}
