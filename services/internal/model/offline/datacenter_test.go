package offline_test

import (
	"strings"
	"testing"
)

// TestOtherNames uses a data center estate whose naming conventions differ from the
// clinic's.
func TestOtherNames(t *testing.T) {
	t.Parallel()
	e := synthetic(t, "testdata/datacenter.json")
	for _, row := range []struct{ question, want string }{
		{"How many virtual machines are in production?", "18 vms.\n\nUnderstood as: counting vms where environment = production."},
		{"How many VMs run Debian?", "21 vms.\n\nUnderstood as: counting vms where os = debian11 or debian12."},
		{"How many Windows servers do we have?", "22 vms"},
		{"Which data center hosts the most VMs?", "FRA1: 24 vms"},
		{"How many VMs are not backed up?", "20 vms.\n\nUnderstood as: counting vms where backup_enabled = false."},
		{"How many VMs run neither Debian nor RHEL?", "22 vms.\n\nUnderstood as: counting vms where os ≠ debian11 or debian12 or rhel9."},
		{"How many VMs are powered off?", "25 vms.\n\nUnderstood as: counting vms where power_state = poweredOff."},
		{"How many critical VMs are there?", "34 vms.\n\nUnderstood as: counting vms where tags.critical = yes."},
		{"How many VMs have at least 32 GB of memory?", "24 vms"},
		{"What's the total memory of all VMs?", "1544: the sum of memory_gb"},
		{"What percentage of production VMs have backups?", "66.7%: 12 of 18"},
		{"Does FRA1 have more VMs than LON3?", "Yes: FRA1 has more: 24 vms, against LON3 14; a difference of 10.\n\nUnderstood as: comparing the number of vms where datacenter = FRA1 or LON3."},
		{"Which certificates expire on 2024-05-01?", "5 certificates: host10.example.com, host13.example.com, host22.example.com, host24.example.com, host8.example.com.\n\nUnderstood as: listing common_name of certificates where expires = 2024-05-01."},
		{"How many certificates expire in 2024?", "18 certificates"},
		{"How many certificates are from Let's Encrypt?", "10 certificates.\n\nUnderstood as: counting certificates where issuer = Let's Encrypt."},
		{"Which issuer has issued the most certificates?", "Let's Encrypt: 10 certificates"},
		{"Are all inbound rules logged?", "No: 11 of 20 firewall rules"},
		{"How many incidents are assigned to alice?", "11 incidents.\n\nUnderstood as: counting incidents where assignee = alice."},
		{"How many incidents are high or critical?", "14 incidents"},
		{"Open incidents by severity", "10 incidents by severity:\n- low: 4\n- medium: 3\n- high: 2\n- critical: 1\n\nUnderstood as: counting incidents where status = open, by severity."},
		{"How many VMs are idle?", `Unknown term "idle": no field or value of vms matches it.`},
		{"How much does a VM cost?", "It is unclear which numeric field of vms to aggregate."},
		{"What's the mean time to repair?", `Unknown terms "time", "repair": no array, field or value matches them.`},
		{"How many VMs run Oracle Linux?", `Unknown term "Oracle Linux": no field or value of vms matches it.`},
		{"How many incidents are about phishing?", `Unknown term "phishing": no field or value of incidents matches it.`},
	} {
		t.Run(row.question, func(t *testing.T) {
			t.Parallel()
			if got, calls := ask(t, e, row.question); !strings.HasPrefix(got, row.want) {
				t.Errorf("got %q\nwant %q\nafter %s", got, row.want, calls)
			}
		})
	}
}
