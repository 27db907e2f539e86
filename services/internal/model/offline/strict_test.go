package offline_test

import (
	"strings"
	"testing"

	"cairn/services/internal/estate"
)

// strict are synthetic estates for questions that have more meaning than the words that match.
var strict = map[string]string{
	"accounts": `{"accounts":[
 {"account":"alice","disabled":false,"mfa_disabled":false,"never_expires":true,"on_call":true,"logging":true,"enabled":true,"fails":3},
 {"account":"bob","disabled":true,"mfa_disabled":true,"never_expires":false,"on_call":false,"logging":false,"enabled":true,"fails":0},
 {"account":"carol","disabled":false,"mfa_disabled":true,"never_expires":false,"on_call":true,"logging":true,"enabled":false,"fails":7},
 {"account":"dave","disabled":true,"mfa_disabled":false,"never_expires":true,"on_call":false,"logging":false,"enabled":false,"fails":1}]}`,
	"tickets": `{"tickets":[
 {"ticket":"A1","opened":"2026-06-01","opened_by":"kim","open":true,"approved_by":"lee","status":"approved","team":"data"},
 {"ticket":"A2","opened":"2026-06-10","opened_by":"lee","open":false,"approved_by":"kim","status":"rejected","team":"total"},
 {"ticket":"A3","opened":"2025-02-01","opened_by":"kim","open":false,"approved_by":"kim","status":"open","team":"field"},
 {"ticket":"A4","opened":"2026-05-01","opened_by":"max","open":true,"approved_by":null,"status":"closed","team":"data"}]}`,
	"repos": `{"repos":[
 {"repo":"r1","open_issues":2,"open_prs":9,"language":"Go","archived":false,"built":2018,"size_kb":100},
 {"repo":"r2","open_issues":50,"open_prs":1,"language":"Go","archived":true,"built":2011,"size_kb":500},
 {"repo":"r3","open_issues":7,"open_prs":0,"language":"Rust","archived":true,"built":2001,"size_kb":50}]}`,
	"rules": `{"rules":[
 {"rule":"app-to-db","from":"app","to":"db","sources":["any"],"expires":null,"by":"x"},
 {"rule":"sync","from":"app","to":"db","sources":["10.0.0.1"],"expires":"2026-01-01","by":"y"},
 {"rule":"any-any","from":"any","to":"any","sources":["any"],"expires":null,"by":"x"}]}`,
	"inverters": `{"inverters":[
 {"id":"I1","strings_connected":24,"strings_active":20,"strength_mg":500,"block":"North","maker":"SMA","bifacial":true},
 {"id":"I2","strings_connected":10,"strings_active":0,"strength_mg":2,"block":"East","maker":"SMA","bifacial":true},
 {"id":"I3","strings_connected":7,"strings_active":7,"strength_mg":7,"block":"East","maker":"ABB","bifacial":false}]}`,
	"vms": `{"virtual_machines":[
 {"vm_name":"web-01","cluster":"A","memory_gb":16,"snapshot_count":3},
 {"vm_name":"web-02","cluster":"A","memory_gb":16,"snapshot_count":0},
 {"vm_name":"db-01","cluster":"B","memory_gb":64,"snapshot_count":0}],
"hosts":[
 {"hostname":"esx01","cluster":"A","memory_gb":1024,"site":"HH"},
 {"hostname":"esx02","cluster":"B","memory_gb":512,"site":"HH"}]}`,
	"instances": `{"instances":[
 {"InstanceId":"i-1","vCPU":8,"Team":"shop","CostUsd":100,"State":"running","InstanceType":"m6i.large"},
 {"InstanceId":"i-2","vCPU":8,"Team":"shop","CostUsd":100,"State":"running","InstanceType":"m6i.large"},
 {"InstanceId":"i-3","vCPU":32,"Team":"ml","CostUsd":150,"State":"stopped","InstanceType":"p4d.24xlarge"}],
"accounts":[
 {"name":"p","month_to_date_spend":9800,"forecast_spend":10650,"budget":10000}]}`,
	"runs": `{"runs":[
 {"id":"r1","pipeline":"a","state":"failed"},
 {"id":"r2","pipeline":"a","state":"succeeded"},
 {"id":"r3","pipeline":"b","state":"succeeded"},
 {"id":"r4","pipeline":"c","state":"running"}],
"zones":[
 {"zone":"a.com","records":12,"signed":false},
 {"zone":"b.com","records":40,"signed":true}]}`,
	"gpus": `{"nodes":[
 {"hostname":"n1","disk":{"size_gb":800,"used_gb":300},"gpu":{"model":"A100","count":4}},
 {"hostname":"n2","disk":{"size_gb":800,"used_gb":500},"gpu":{"model":"H100","count":8}},
 {"hostname":"n3","disk":{"size_gb":400,"used_gb":100},"gpu":{"model":"A100","count":2}}],
"jobs":[
 {"job":"j1","gpus":3,"gpu_hours":20.5,"accuracy":0.94,"birth_year":1980},
 {"job":"j2","gpus":1,"gpu_hours":2.5,"accuracy":0.71,"birth_year":1999}]}`,
	"records": `{"zones":[
 {"name":"a.org","record_count":120},
 {"name":"b.org","record_count":300}],
"records":[
 {"fqdn":"x.a.org","zone":"a.org","type":"A"},
 {"fqdn":"y.a.org","zone":"a.org","type":"MX"},
 {"fqdn":"x.b.org","zone":"b.org","type":"A"}]}`,
	"landlords": `{"sites":[
 {"site":"s1","landlord":"City","height_m":30},
 {"site":"s2","landlord":"Rail","height_m":20}],
"cells":[
 {"cell":"c1","site":"s1","status":"active","cost_cents":250,"rows":7},
 {"cell":"c2","site":"s1","status":"planned","cost_cents":90,"rows":9}]}`,
	"forklifts": `{"forklifts":[
 {"name":"FL1","in_use":true,"battery_percent":80},
 {"name":"FL2","in_use":false,"battery_percent":15},
 {"name":"FL3","in_use":true,"battery_percent":20}]}`,
	"racks": `{"racks":[
 {"name":"R1","draw_kw":6,"max_kw":8,"room":"A"},
 {"name":"R2","draw_kw":2,"max_kw":8,"room":"A"}]}`,
	"bins": `{"bins":[
 {"bin":"A1","blocked":false},
 {"bin":"A2","blocked":true},
 {"bin":"A3","blocked":true}],
"pallets":[
 {"pallet":"P1","bin":"A2","status":"blocked"},
 {"pallet":"P2","bin":"A1","status":"stored"}]}`,
	"tanks": `{"tanks":[
 {"tank":"T1","level_pct":66,"min_level_pct":35,"max_level_pct":95},
 {"tank":"T2","level_pct":20,"min_level_pct":30,"max_level_pct":90}]}`,
	"orders": `{"orders":[
 {"order":"O1","shipped_on":"2026-05-03","carrier":"DPD","verified":true},
 {"order":"O2","shipped_on":null,"carrier":null,"verified":false},
 {"order":"O3","shipped_on":null,"carrier":"GLS","verified":false}]}`,
	"users": `{"users":[
 {"username":"jdoe","instance":"a","privilege":"read"},
 {"username":"jdoe","instance":"b","privilege":"read"},
 {"username":"adm","instance":"b","privilege":"admin"}]}`,
	"cells": `{"sites":[
 {"site_id":"S1","name":"Hilltop","region":"north"},
 {"site_id":"S2","name":"Quay","region":"north"},
 {"site_id":"S3","name":"Mall","region":"south"}],
"cells":[
 {"cell":"c1","site":"S1","users":10},
 {"cell":"c2","site":"S2","users":5},
 {"cell":"c3","site":"S3","users":12},
 {"cell":"c4","site":"S3","users":1}]}`,
	"sensors": `{"sensors":[
 {"sensor":"s1","kind":"humidity","reading":44,"alarm_above":60,"battery_pct":80},
 {"sensor":"s2","kind":"humidity","reading":63,"alarm_above":60,"battery_pct":10},
 {"sensor":"s3","kind":"temperature","reading":28,"alarm_above":27,"battery_pct":50}]}`,
	"stations": `{"stations":[
 {"station":"A","pumps":4,"pumps_running":3},
 {"station":"B","pumps":2,"pumps_running":0}]}`,
	"hosts": `{"hosts":[
 {"name":"h1","site":"Oslo","patched":true,"cpus":4,"ram_gb":8,"tags":["web","db"]},
 {"name":"h2","site":"Oslo","patched":false,"cpus":8,"ram_gb":8,"tags":["web"]},
 {"name":"h3","site":"Rome","patched":true,"cpus":16,"ram_gb":64,"tags":[]}]}`,
	"jobs": `{"jobs":[
 {"id":9001,"status":"failed","duration_s":600,"passed":false,"started":"2026-05-01"},
 {"id":9002,"status":"done","duration_s":30,"passed":true,"started":"2026-05-02"},
 {"id":9003,"status":"failed","duration_s":90,"passed":false,"started":null}],
"users":[
 {"user":"ann","password_expires":"2026-01-01","unit_cost_eur":3,"email":"a@x.org"},
 {"user":"bo","password_expires":"2026-09-01","unit_cost_eur":4,"email":"b@x.org"}]}`,
	"samples": `{"samples":[
 {"sample":"W1","parameters":["ph","bacteria"],"ph":7.2,"bacteria":0},
 {"sample":"W2","parameters":["ph"],"ph":7.4,"bacteria":3}]}`,
}

// TestStrictReadings asks questions in which a word beside the matched ones changes the answer: it is used, or the
// question is declined.
func TestStrictReadings(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ estate, question, want string }{
		{"forklifts", "Which forklifts are in use?", `Unknown term "use": no field or value of forklifts matches it.`},
		{"forklifts", "How many forklifts in use have a battery below 50 percent?",
			`Unknown term "use": no field or value of forklifts matches it.`},
		{"forklifts", "Which forklifts are working?", `Unknown term "working": no field or value of forklifts matches it.`},
		{"forklifts", "Which forklifts need a battery?", `Unknown term "need": no field or value of forklifts matches it.`},
		{"racks", "Which room has the most total racks?", "It is unclear what to rank room by."},
		{"racks", "Which room has the highest combined power?", "It is unclear what to rank room by."},
		{"racks", "What percentage of the total draw is R1?", "The use of field draw_kw was not understood."},
		{"racks", "What is the total draw in watts?", "The unit watts cannot be converted to the unit of draw_kw."},
		{"racks", "What is the ratio of draw to max draw?",
			"0.5: the ratio of draw_kw (8) and max_kw (16).\n\nUnderstood as: the ratio of the sums of draw_kw and max_kw over racks."},
		{"racks", "Are most racks above 3 kW?", "It is unclear which field to compare with 3."},
		{"bins", "Which bins are blocked?", "The question is ambiguous: bins or pallets."},
		{"tanks", "Which tanks have a level below the minimum level?",
			"1 tank: T2.\n\nUnderstood as: listing tank of tanks where level_pct < min_level_pct."},
		{"tanks", "What is the ratio of level to maximum level?",
			"0.465: the ratio of level_pct (86) and max_level_pct (185)."},
		{"tanks", "What is the minimum level of T1?", "It is unclear whether the smallest level_pct is meant, or min_level_pct."},
		{"tanks", "What is the total level of the tanks?", "The sum of level_pct has no meaning; ask for the average."},
		{"tanks", "Which tanks are at their maximum level?", "The use of field max_level_pct was not understood."},
		{"orders", "Which orders still have to be shipped?", `The meaning of "to" was not understood.`},
		{"orders", "How many orders should be verified?", `The meaning of "should" was not understood.`},
		{"orders", "Can O2 be verified?", `The meaning of "Can" was not understood.`},
		{"orders", "Are none of the orders verified?", `The meaning of "none" was not understood.`},
		{"orders", "Are O1 and O2 verified?",
			"No: 1 of 2 orders.\n\nUnderstood as: whether all orders where order = O1 or O2 have verified = true."},
		{"orders", "Are both O1 and O3 verified?",
			"No: 1 of 2 orders.\n\nUnderstood as: whether all orders where order = O1 or O3 have verified = true."},
		{"orders", "How many orders have an express carrier?", `Unknown term "express": no field or value of orders matches it.`},
		{"orders", "How many orders have a carrier?", "2 orders.\n\nUnderstood as: counting orders where carrier is set."},
		{"orders", "When was order O1 shipped?", "2026-05-03.\n\nUnderstood as: listing shipped_on of orders where order = O1."},
		{"orders", "Which orders were not verified in May 2026?", "The negation is ambiguous."},
		{"users", "How many distinct users are there?", "It is unclear which values of users to count."},
		{"users", "How many different instances are there?",
			"2 different values of instance.\n\nUnderstood as: counting the values of instance among users."},
		{"cells", "Which region has the most cells?", `"region" is a field of sites, but not of cells.`},
		{"cells", "How many cells are there per site?",
			"4 cells by site:\n- S3: 2\n- S1: 1\n- S2: 1\n\nUnderstood as: counting cells, by site."},
		{"cells", "List cells with their users", "Listing further fields is not supported."},
		{"sensors", "How many humidity sensors have a reading above 60?",
			"1 sensor.\n\nUnderstood as: counting sensors where kind = humidity and reading > 60."},
		{"sensors", "Is any humidity above 60?", "It is unclear which field to compare with 60."},
		{"stations", "How many pumps are not running?", "The use of field pumps was not understood."},
		{"hosts", "Are the hosts in Oslo patched?",
			"No: 1 of 2 hosts.\n\nUnderstood as: whether all hosts where site = Oslo have patched = true."},
		{"hosts", "Are h1 and h3 patched?",
			"Yes: all 2 hosts.\n\nUnderstood as: whether all hosts where name = h1 or h3 have patched = true."},
		{"hosts", "Are h1 and h2 patched and in Oslo?", "No: 1 of 2 hosts."},
		{"hosts", "Do h1 and h2 have at least 8 cpus?",
			"No: 1 of 2 hosts.\n\nUnderstood as: whether all hosts where name = h1 or h2 have cpus ≥ 8."},
		{"hosts", "Does Oslo have h1 and h2?", "Ask about one value of name at a time."},
		{"jobs", "Which jobs failed?", "2 jobs: 9001, 9003.\n\nUnderstood as: listing id of jobs where status = failed."},
		{"jobs", "Which job ran the longest?",
			"9001: 600 duration_s.\n\nUnderstood as: ranking id of jobs by largest duration_s, largest first."},
		{"jobs", "How many jobs have not passed?", "2 jobs.\n\nUnderstood as: counting jobs where passed = false."},
		{"jobs", "What is the total duration of the jobs in minutes?", "The unit minutes cannot be converted to the unit of duration_s."},
		{"jobs", "Which passwords have expired?", "The use of field password_expires was not understood."},
		{"jobs", "What is the total cost of the users?", "The sum of unit_cost_eur has no meaning; ask for the average."},
		{"jobs", "How many users have a work email?", `Unknown term "work": no field or value of users matches it.`},
		{"samples", "What is the average pH?", "7.3: the average of ph.\n\nUnderstood as: the average of ph over samples."},
		{"accounts", "Which accounts are disabled?",
			"2 accounts: bob, dave.\n\nUnderstood as: listing account of accounts where disabled = true."},
		{"accounts", "Which accounts have logging disabled?",
			"2 accounts: bob, dave.\n\nUnderstood as: listing account of accounts where logging = false."},
		{"accounts", "Which accounts are enabled with logging disabled?",
			"1 account: bob.\n\nUnderstood as: listing account of accounts where enabled = true and logging = false."},
		{"accounts", "Which accounts have mfa enabled?", "The use of field mfa_disabled was not understood."},
		{"accounts", "Which accounts do not expire?", "The use of field never_expires was not understood."},
		{"accounts", "Who is on call?", "2 accounts: alice, carol.\n\nUnderstood as: listing account of accounts where on_call = true."},
		{"accounts", "Who has the most fails?", "It is unclear which field answers who."},
		{"repos", "Is the largest repo archived?", `The meaning of "largest" was not understood.`},
		{"repos", "Is exactly one repo archived?", `The meaning of "exactly" was not understood.`},
		{"repos", "Are there as many Go repos as Rust repos?", "The question was not understood."},
		{"repos", "Are repos mostly archived?", `Unknown term "mostly": no field or value of repos matches it.`},
		{"repos", "Why is r1 archived?", "The question was not understood."},
		{"repos", "Which repos are older than 10 years?", "Ages are not computed from built."},
		{"repos", "Which repos are younger than 2015?", "1 repo: r1.\n\nUnderstood as: listing repo of repos where built > 2015."},
		{"repos", "What is the size of r1 in MB?", "The unit mb cannot be converted to the unit of size_kb."},
		{"repos", "Which repos have at least 5 more open issues than open prs?", "Differences are not compared."},
		{"rules", "Which rules allow any source?", `The meaning of "any" was not understood.`},
		{"rules", "Which rules are from any to any?", `The meaning of "any" was not understood.`},
		{"rules", "Which rules expire?", "The use of field expires was not understood."},
		{"rules", "Do any rules expire?", "Yes: 1 rule.\n\nUnderstood as: whether there are rules where expires is set."},
		{"inverters", "Which makers have inverters in both North and East?", "Records with both values cannot be selected; ask about one."},
		{"inverters", "Which inverters have a strength above 1 g?", "The unit g cannot be converted to the unit of strength_mg."},
		{"inverters", "Which makers have no active strings?", "Listing values of maker without inverters is not supported."},
		{"inverters", "How many strings are not active?", "The use of field strings_connected was not understood."},
		{"tickets", "How many tickets are in data?", "2 tickets.\n\nUnderstood as: counting tickets where team = data."},
		{"tickets", "Which tickets were approved by kim?",
			"2 tickets: A2, A3.\n\nUnderstood as: listing ticket of tickets where approved_by = kim."},
		{"tickets", "Who approved the most tickets?", "kim: 2 tickets.\n\nUnderstood as: ranking approved_by of tickets by number"},
		{"tickets", "How many tickets did kim open?", `The meaning of "open" was not understood.`},
		{"tickets", "Which tickets have support?", `Unknown term "support": no field or value of tickets matches it.`},
		{"tickets", "Which tickets are approved?", "1 ticket: A1.\n\nUnderstood as: listing ticket of tickets where status = approved."},
		{"vms", "How many virtual machines do we have?", "3 virtual machines.\n\nUnderstood as: counting virtual machines."},
		{"vms", "What is the total memory of the VMs?", "96: the sum of memory_gb."},
		{"vms", "How many VMs run on hosts in HH?", `"VMs" is the name of virtual machines, but not of hosts.`},
		{"vms", "How many snapshots are there?", "3: the sum of snapshot_count."},
		{"instances", "How many vCPUs does shop have?", "16: the sum of vCPU."},
		{"instances", "How many instance types are running?", "1 different value of InstanceType."},
		{"instances", "Which instance types start with m6i?", "2 instances by InstanceType:\n- m6i.large: 2"},
		{"instances", "Which team has the highest cost?", "It is unclear whether to add CostUsd for each Team."},
		{"instances", "Which team has the most cost?", "shop: 200 CostUsd."},
		{"instances", "What is the spend of p?", `"spend" is ambiguous: forecast_spend or month_to_date_spend.`},
		{"runs", "Which pipelines never failed?", "Questions about all records of a pipeline are not supported."},
		{"runs", "Which pipelines are running?", "c.\n\nUnderstood as: listing pipeline of runs where state = running."},
		{"runs", "Which records belong to zones that are not signed?", "The use of field records was not understood."},
		{"orders", "When was the last order shipped?", `Unknown term "last": no field or value of orders matches it.`},
		{"accounts", "How many accounts with logging are disabled?", "0 accounts."},
		{"instances", "Top 2 instances by cost in the last 30 days", "Periods that depend on the current time are not supported."},
		{"runs", "Who runs a?", "It is unclear which field answers who."},
		{"gpus", "how many GPUs are there in total?", "The question is ambiguous: jobs or nodes."},
		{"gpus", "GPUs per model", "14: the sum of gpu.count; by gpu.model:\n- H100: 8\n- A100: 6"},
		{"gpus", "how many H100 GPUs do we have?", "8: the sum of gpu.count."},
		{"gpus", "how many nodes have 800 gb disks?", `"gb disks" is ambiguous: disk.used_gb or disk.size_gb.`},
		{"gpus", "how many jobs have an accuracy above 90%?", "The unit percent cannot be converted to the unit of accuracy."},
		{"gpus", "how many jobs have 3+ gpus?", "1 job.\n\nUnderstood as: counting jobs where gpus ≥ 3."},
		{"gpus", "how many jobs are older than 40?", "Ages are not computed from birth_year."},
		{"gpus", "second largest node by disk used", "n1: 300 disk.used_gb."},
		{"gpus", "what is the accuracy of the largest job?", "It is unclear which numeric field of jobs to aggregate."},
		{"records", "which zone has the most records?", "The question is ambiguous: records or zones."},
		{"records", "records per zone", "The question is ambiguous: records or zones."},
		{"records", "records per type", "3 records by type:\n- A: 2\n- MX: 1"},
		{"records", "zone with the fewest MX records", "a.org: 1 record."},
		{"landlords", "how many sites are in the city?", "The use of field site was not understood."},
		{"landlords", "how many sites belong to the City?", "1 site.\n\nUnderstood as: counting sites where landlord = City."},
		{"landlords", "which sites are active?", `"sites" is the name of sites, but not of cells.`},
		{"landlords", "which sites have active cells?", "s1.\n\nUnderstood as: listing site of cells where status = active."},
		{"landlords", "how many cells cost more than 2 euros?", "The unit euros cannot be converted to the unit of cost_cents."},
		{"landlords", "how many cells arent active", "1 cell.\n\nUnderstood as: counting cells where status ≠ active."},
	} {
		t.Run(row.question, func(t *testing.T) {
			t.Parallel()
			e, err := estate.Parse([]byte(strict[row.estate]))
			if err != nil {
				t.Fatal(err)
			}
			if got, calls := ask(t, e, row.question); !strings.HasPrefix(got, row.want) {
				t.Errorf("got %q\nwant %q\nafter %s", got, row.want, calls)
			}
		})
	}
}
