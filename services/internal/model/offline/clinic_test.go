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
		{"How many Cisco switches are in Berlin?", "3 switches.\n\nUnderstood as: counting switches where vendor = Cisco and site = Berlin."},
		{"Switches per site", "8 switches by site:\n- Berlin: 4\n- Lisbon: 2\n- Oslo: 2"},
		{"Number of monitors per ward", "3 medical devices by ward:\n- Cardiology: 2\n- Emergency: 1\n\nUnderstood as: counting medical devices where deviceType = ECG monitor, by ward."},
		{"Which vendor supplies the most switches?", "Cisco: 4 switches"},
		{"Which ward has the fewest devices?", "Emergency: 1 medical device"},
		{"Top 3 manufacturers", "The first 3 by manufacturer:\n1. Braun: 2\n2. Draeger: 2\n3. Philips: 2\n\nSiemens ties with the last entry.\n\nUnderstood as: ranking manufacturer of medical devices by number of records, largest first."},
		{"How many switches have PoE enabled?", "4 switches.\n\nUnderstood as: counting switches where poeEnabled = true."},
		{"How many switches don't have PoE?", "4 switches.\n\nUnderstood as: counting switches where poeEnabled = false."},
		{"Which switches have no uplink?", "2 switches: sw-lis-05, sw-osl-03.\n\nUnderstood as: listing hostname of switches where uplink is not set."},
		{"How many switches have at least 48 ports?", "5 switches"},
		{"How many devices have a battery below 70 percent?", "2 medical devices"},
		{"Which pods have more than 10 restarts?", "1 pod: payments-27f2.\n\nUnderstood as: listing name of pods where status.restarts > 10."},
		{"How many switches were installed before 2020?", "3 switches"},
		{"How many switches were installed in 2021?", "2 switches"},
		{"How many devices have never been calibrated?", "2 medical devices.\n\nUnderstood as: counting medical devices where lastCalibration is not set."},
		{"What percentage of switches is made by Juniper?", "25.0%: 2 of 8"},
		{"What fraction of the devices is networked?", "70.0%"},
		{"Do we have any Arista switches in Oslo?", "No: 0 switches"},
		{"Are all switches in Lisbon from Juniper?", "No: 1 of 2"},
		{"Are all ventilators networked?", "Yes: all 2"},
		{"List the switches in Oslo", "2 switches: sw-osl-03, sw-osl-04.\n\nUnderstood as: listing hostname of switches where site = Oslo."},
		{"Which wards have ventilators?", "2 medical devices by ward:\n- ICU: 2\n\nUnderstood as: listing ward of medical devices where deviceType = ventilator."},
		{"Where are the MRI scanners?", "Radiology.\n\nUnderstood as: listing ward of medical devices where deviceType = MRI scanner."},
		{"Cisco or Arista: which do we have more of?", "Cisco has more: 4 switches, against Arista 2; a difference of 2."},
		{"How many pods are not running?", "2 pods.\n\nUnderstood as: counting pods where status.phase ≠ Running."},
		{"How many pods have no team label?", "4 pods.\n\nUnderstood as: counting pods where labels.team is not set."},
		{"How many different namespaces are there?", "3 different values of namespace.\n\nUnderstood as: counting the values of namespace among pods."},
		{"How many scanners are there?", "2 medical devices"},
		{"How many devices are made by Philips or Siemens?", "4 medical devices"},
		{"What is the average port count of the switches?", "40: the average of portCount"},
		{"What is the average battery percentage of MRI scanners?",
			"None of these medical devices has a number in batteryPercent.\n\nUnderstood as: the average of batteryPercent over medical devices where deviceType = MRI scanner."},
		{"What is the highest number of restarts?", "17: the largest of status.restarts"},
		{"What's the total number of restarts in the payments namespace?", "19: the sum of status.restarts"},
		{"Which switch has the most ports?", "sw-ber-07, sw-lis-06: 52 portCount each.\n\nUnderstood as: ranking hostname of switches by largest portCount, largest first."},
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
		{"How many vlans are in Madrid?", `Unknown term "Madrid": no field or value of vlans matches it.`},
		{"Is there a switch from Huawei?", `Unknown term "Huawei": no field or value of switches matches it.`},
		{"What is the average CPU load of the pods?", `Unknown term "CPU load": no field or value of pods matches it.`},
		{"How much did the MRI scanner cost?", `Unknown term "cost": no field or value of medical devices matches it.`},
		{"How many encrypted pods are there?", `Unknown term "encrypted": no field or value of pods matches it.`},
		{"How many nurses work in the ICU?", "Unknown term \"nurses\""},
		{"Who maintains the ventilators?", `Unknown term "ventilators": no field or value of pods matches it.`},
		{"Devices by continent", `Unknown term "continent": no field or value of medical devices matches it.`},
		{"hello", "The question was not understood."},
		{"Pods per node and namespace", "Grouping by two fields is not supported."},
	} {
		t.Run(row.question, func(t *testing.T) {
			t.Parallel()
			got, calls := ask(t, e, row.question)
			if !strings.HasPrefix(got, row.want) {
				t.Errorf("got %q, want %q", got, row.want)
			}
			if !strings.Contains(got, "You could ask:\n- How many ") {
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
		{"another value of the same field", "2 switches.\n\nUnderstood as: counting switches where site = Oslo.",
			[]string{"How many switches are in Berlin?", "and in Oslo?"}},
		{"a further condition", "1 switch.\n\nUnderstood as: counting switches where site = Oslo and vendor = Cisco.", []string{"How many switches are in Oslo?", "and from Cisco?"}},
		{"another field to count by", "8 switches by site:", []string{"Switches per vendor", "and by site?"}},
		{"a third turn", "2 switches.\n\nUnderstood as: counting switches where vendor = Arista.", []string{"How many Cisco switches are there?", "what about Juniper?", "and Arista?"}},
		{"a range in place of two conditions", "5 switches.\n\nUnderstood as: counting switches where portCount ≥ 48.",
			[]string{"How many switches have more than 24 and fewer than 52 ports?", "and with at least 48 ports?"}},
		{"after one without an answer", "Unknown term \"nurses\"", []string{"How many nurses are there?", "and by site?"}},
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
