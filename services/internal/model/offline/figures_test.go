package offline_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/services/internal/estate"
)

// incomplete is a synthetic estate with small, missing and empty values.
const incomplete = `{"hosts":[
 {"name":"web-1","site":"Oslo","env":"prod","state":"down","cpus":8,"load":0.0004,"rack":"r1","end_date":"2025-01-01"},
 {"name":"web-2","site":"Bergen","env":"prod","state":"up","cpus":4,"load":0.0002,"rack":"","end_date":""},
 {"name":"web-3","site":"Bergen","env":"dev","state":"up","cpus":null,"load":-0.0003,"rack":"","end_date":"2027-01-01"},
 {"name":"db-1","site":"Hamar","env":"dev","state":"down","cpus":16,"load":0.0001,"rack":"r1","end_date":""},
 {"name":"db-2","site":"Oslo","env":"dev","state":"up","cpus":16,"load":0.0001,"rack":"r2","end_date":""}],
"volumes":[
 {"name":"v1","tier":"gold standard","price":0},{"name":"v2","tier":"gold standard","price":0},{"name":"v3","tier":"iron","price":3}]}`

func TestIncompleteRecords(t *testing.T) {
	t.Parallel()
	e, err := estate.Parse([]byte(incomplete))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name      string
		questions []string
		want      string
	}{
		{"a follow-up of a share", []string{"What percentage of hosts are down?", "and in Oslo?"}, "50.0%: 1 of 2 hosts."},
		{"a follow-up of a comparison", []string{"Are there more hosts in Oslo or Bergen?", "and in Hamar?"}, "1 host: db-1."},
		{"a follow-up of a yes/no comparison", []string{"Does Bergen have more hosts than Oslo?", "what about Hamar?"}, "1 host"},
		{"a follow-up of a comparison by another field", []string{"Are there more prod hosts in Oslo or Bergen?", "and dev?"},
			"Both the same: Oslo and Bergen have 1 host each."},
		{"a follow-up of alternatives", []string{"How many hosts are in Oslo or have 4 cpus?", "and in Bergen?"}, "2 hosts: web-2, web-3."},
		{"a comparison with a missing number", []string{"Does web-1 have more cpus than web-3?"}, "web-3 has no number in cpus."},
		{"the smallest beside a missing number", []string{"Which host has the fewest cpus?"}, "web-2: 4 cpus."},
		{"a small figure", []string{"Which host has the highest load?"}, "web-1: 0.0004 load."},
		{"small averages", []string{"What is the average load per site?"}, "0.0001: the average of load; by site:\n- Oslo: 0.00025\n- Hamar: 0.0001\n- Bergen: -0.00005"},
		{"empty dates are not before any", []string{"How many hosts end before 2026?"}, "1 host."},
		{"an empty value is none", []string{"How many hosts have no rack?"}, "2 hosts."},
		{"and not set", []string{"How many hosts have a rack?"}, "3 hosts."},
		{"and a group", []string{"How many hosts are there per rack?"}, "5 hosts by rack:\n- \"\": 2\n- r1: 2\n- r2: 1"},
		{"a sum of 0", []string{"What is the total price of gold volumes?"}, "0: the sum of price."},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got, calls := ask(t, e, row.questions...); !strings.HasPrefix(got, row.want) {
				t.Errorf("got %q\nwant %q\nafter %s", got, row.want, calls)
			}
		})
	}
}

// TestSharesAreNotRoundedToAll: a share says none or all only if that is true.
func TestSharesAreNotRoundedToAll(t *testing.T) {
	t.Parallel()
	var hosts []string
	for i := range 10_000 {
		hosts = append(hosts, fmt.Sprintf(`{"name":"h%d","state":%q}`, i, map[bool]string{true: "down", false: "up"}[i < 3]))
	}
	e, err := estate.Parse([]byte(`{"hosts":[` + strings.Join(hosts, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	for question, want := range map[string]string{
		"What percentage of hosts are down?": "0.03%: 3 of 10000 hosts.",
		"What percentage of hosts are up?":   "99.97%: 9997 of 10000 hosts.",
	} {
		if got, calls := ask(t, e, question); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q after %s", got, want, calls)
		}
	}
}
