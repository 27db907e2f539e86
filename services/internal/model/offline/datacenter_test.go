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
		{"How many virtual machines are in production?", "18 vms with environment production."},
		{"How many VMs run Debian?", "21 vms with os debian11 or debian12."},
		{"How many Windows servers do we have?", "22 vms"},
		{"Which data center hosts the most VMs?", "FRA1: 24 vms"},
		{"How many VMs are not backed up?", "20 of 60 vms have backup_enabled = false."},
		{"How many VMs run neither Debian nor RHEL?", "22 of 60 vms"},
		{"How many VMs are powered off?", "25 vms with power_state poweredOff."},
		{"How many critical VMs are there?", "34 vms with tags.critical yes."},
		{"How many VMs have at least 32 GB of memory?", "24 vms"},
		{"What's the total memory of all VMs?", "1544: the sum of memory_gb"},
		{"What percentage of production VMs have backups?", "66.7%: 12 of 18"},
		{"Does FRA1 have more VMs than LON3?", "FRA1 has more: 24 vms, against LON3 14; a difference of 10."},
		{"Which certificates expire on 2024-05-01?", "5 certificates with expires 2024-05-01: host10.example.com"},
		{"How many certificates expire in 2024?", "18 certificates"},
		{"How many certificates are from Let's Encrypt?", "10 certificates with issuer Let's Encrypt."},
		{"Which issuer has issued the most certificates?", "Let's Encrypt: 10 certificates"},
		{"Are all inbound rules logged?", "No: 11 of 20 firewall rules"},
		{"How many incidents are assigned to alice?", "11 incidents with assignee alice."},
		{"How many incidents are high or critical?", "14 incidents"},
		{"Open incidents by severity", "10 incidents with status open by severity:\n- low: 4\n- medium: 3\n- high: 2\n- critical: 1"},
		{"How many VMs are idle?", `The data does not contain "idle".`},
		{"How much does a VM cost?", `The data does not contain "VM cost".`},
		{"What's the mean time to repair?", `The data does not contain "time repair".`},
		{"How many VMs run Oracle Linux?", `The data does not contain "Oracle`},
		{"How many incidents are about phishing?", `The data does not contain "phishing".`},
	} {
		t.Run(row.question, func(t *testing.T) {
			t.Parallel()
			if got, calls := ask(t, e, row.question); !strings.HasPrefix(got, row.want) {
				t.Errorf("got %q\nwant %q\nafter %s", got, row.want, calls)
			}
		})
	}
}
