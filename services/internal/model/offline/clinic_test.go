package offline_test

import (
	"os"
	"strings"
	"testing"

	"cairn/services/internal/estate"
)

// clinic is a synthetic estate: switches, VLANs, pods and medical devices.
func clinic(tb testing.TB) *estate.Estate { return synthetic(tb, "testdata/clinic.json") }

func synthetic(tb testing.TB, path string) *estate.Estate {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	e, err := estate.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	e := clinic(t)
	for _, row := range []struct{ question, want string }{
		{"How many switches do we have?", "8 switches."},
		{"How many Cisco switches are in Berlin?", "3 switches with "},
		{"Switches per site", "8 switches by site:\n- Berlin: 4\n- Lisbon: 2\n- Oslo: 2"},
		{"Number of monitors per ward", "3 medical devices with deviceType ECG monitor by ward:\n- Cardiology: 2\n- Emergency: 1"},
		{"Which vendor supplies the most switches?", "Cisco: 4 switches"},
		{"Which ward has the fewest devices?", "Emergency: 1 medical device"},
		{"Top 3 manufacturers", "The first 3 by manufacturer of the medical devices:\n1. Braun: 2\n2. Draeger: 2\n3. Philips: 2\nSiemens has as many"},
		{"How many switches have PoE enabled?", "4 of 8 switches"},
		{"How many switches don't have PoE?", "4 of 8 switches have poeEnabled = false"},
		{"Which switches have no uplink?", "2 switches with no value of uplink: sw-lis-05, sw-osl-03."},
		{"How many switches have at least 48 ports?", "5 switches"},
		{"How many devices have a battery below 70 percent?", "2 medical devices"},
		{"Which pods have more than 10 restarts?", "1 pod with status.restarts more than 10: payments-27f2."},
		{"How many switches were installed before 2020?", "3 switches"},
		{"How many switches were installed in 2021?", "2 switches"},
		{"How many devices have never been calibrated?", "2 of 10 medical devices have no value"},
		{"What percentage of switches is made by Juniper?", "25.0%: 2 of 8"},
		{"What fraction of the devices is networked?", "70.0%"},
		{"Do we have any Arista switches in Oslo?", "No: 0 switches"},
		{"Are all switches in Lisbon from Juniper?", "No: 1 of 2"},
		{"Are all ventilators networked?", "Yes: all 2"},
		{"List the switches in Oslo", "2 switches with site Oslo: sw-osl-03, sw-osl-04."},
		{"Which wards have ventilators?", "2 medical devices with deviceType ventilator by ward:\n- ICU: 2"},
		{"Where are the MRI scanners?", "1 medical device with deviceType MRI scanner by ward:\n- Radiology: 1"},
		{"Cisco or Arista: which do we have more of?", "Cisco has more: 4 switches, against Arista 2; a difference of 2."},
		{"How many pods are not running?", "2 pods with status.phase other than Running."},
		{"How many pods have no team label?", "4 of 9 pods have no value of labels.team."},
		{"How many different namespaces are there?", "3 different values of namespace"},
		{"How many scanners are there?", "2 medical devices"},
		{"How many devices are made by Philips or Siemens?", "4 medical devices"},
		{"What is the average port count of the switches?", "40: the average of portCount"},
		{"What is the average battery percentage of MRI scanners?",
			"None of the medical devices with deviceType MRI scanner has a number in batteryPercent."},
		{"What is the highest number of restarts?", "17: the largest of status.restarts"},
		{"What's the total number of restarts in the payments namespace?", "19: the sum of status.restarts"},
		{"Which switch has the most ports?", "sw-ber-07, sw-lis-06: max portCount 52"},
		{"Which fields do the devices have?", "The medical devices have the fields serialNumber, deviceType,"},
		{"Give me an overview", "The data in numbers:\n- 8 switches, by vendor: Cisco 4, Arista 2, Juniper 2\n"},
	} {
		t.Run(row.question, func(t *testing.T) {
			t.Parallel()
			if got, calls := ask(t, e, row.question); !strings.HasPrefix(got, row.want) {
				t.Errorf("got %q\nwant %q\nafter %s", got, row.want, calls)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	e := clinic(t)
	for _, row := range []struct{ question, want string }{
		{"How many vlans are in Madrid?", `The data does not contain "Madrid".`},
		{"Is there a switch from Huawei?", `The data does not contain "Huawei".`},
		{"What is the average CPU load of the pods?", `The data does not contain "CPU load".`},
		{"How much did the MRI scanner cost?", `The data does not contain "cost".`},
		{"How many encrypted pods are there?", `The data does not contain "encrypted".`},
		{"How many nurses work in the ICU?", `The data does not contain "nurses`},
		{"Who maintains the ventilators?", `The data does not contain "ventilators".`},
		{"Devices by continent", `The data does not contain "continent".`},
		{"hello", "I cannot tell what the question means."},
		{"Pods per node and namespace", "I cannot tell the figures by two fields at a time"},
	} {
		t.Run(row.question, func(t *testing.T) {
			t.Parallel()
			got, calls := ask(t, e, row.question)
			if !strings.HasPrefix(got, row.want) {
				t.Errorf("got %q, want %q", got, row.want)
			}
			if !strings.Contains(got, "You could ask: How many ") {
				t.Errorf("got %q, want an example", got)
			}
			if strings.Contains(calls, "compute_stats") || figures.MatchString(got) {
				t.Errorf("got %s %q, want no figures in a refusal", calls, got)
			}
		})
	}
}

func TestFollowUps(t *testing.T) {
	t.Parallel()
	e := clinic(t)
	for _, row := range []struct {
		name, want string
		turns      []string
	}{
		{"another value of the same field", "2 switches with site Oslo.", []string{"How many switches are in Berlin?", "and in Oslo?"}},
		{"a further condition", "1 switch with site Oslo and vendor Cisco.", []string{"How many switches are in Oslo?", "and from Cisco?"}},
		{"another field to count by", "8 switches by site:", []string{"Switches per vendor", "and by site?"}},
		{"a third turn", "2 switches with vendor Arista.", []string{"How many Cisco switches are there?", "what about Juniper?", "and Arista?"}},
		{"after one without an answer", `The data does not contain "nurses`, []string{"How many nurses are there?", "and by site?"}},
		{"a question of its own", "9 pods.", []string{"How many Cisco switches are there?", "How many pods are there?"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got, calls := ask(t, e, row.turns...); !strings.HasPrefix(got, row.want) {
				t.Errorf("got %q, want %q\nafter %s", got, row.want, calls)
			}
		})
	}
}
