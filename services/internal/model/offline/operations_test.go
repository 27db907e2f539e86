package offline_test

import (
	"strings"
	"testing"

	"cairn/services/internal/estate"
)

// operations are synthetic estates with values that name fields, empty strings, lists and dates.
var operations = map[string]string{
	"pods": `{"clusters":[
 {"name":"prod-eu","nodes":12,"owner":"platform"},
 {"name":"prod-us","nodes":9,"owner":"platform"},
 {"name":"staging","nodes":4,"owner":"data"},
 {"name":"edge-1","nodes":3,"owner":""}],
"pods":[
 {"name":"api-0","namespace":"shop","cluster":"prod-eu","phase":"Running","restarts":0,"labels":["app","web"]},
 {"name":"api-1","namespace":"shop","cluster":"prod-eu","phase":"Running","restarts":0,"labels":["app"]},
 {"name":"worker-0","namespace":"batch","cluster":"prod-us","phase":"Pending","restarts":0,"labels":[]},
 {"name":"worker-1","namespace":"batch","cluster":"prod-us","phase":"Failed","restarts":21,"labels":["app"]},
 {"name":"redis-0","namespace":"cache","cluster":"staging","phase":"Running","restarts":0,"labels":["db"]},
 {"name":"probe","namespace":"shop","cluster":"edge-1","phase":"Succeeded","restarts":0,"labels":["app","probe"]}],
"namespaces":[
 {"name":"shop","team":"sales","quota_cpu":20,"protected":true},
 {"name":"batch","team":"data","quota_cpu":50,"protected":false},
 {"name":"cache","team":"data","quota_cpu":null,"protected":false}]}`,
	"backups": `{"certificates":[
 {"common_name":"www.example.org","issuer":"Let's Encrypt","expires":"2026-04-02","issued":"2026-01-02","key_bits":"2048",
  "wildcard":false,"auto_renew":true,"environment":"production","owner":"web"},
 {"common_name":"*.example.org","issuer":"DigiCert","expires":"2027-01-15","issued":"2026-01-15","key_bits":"4096","wildcard":true,
  "auto_renew":false,"environment":"production","owner":"web"},
 {"common_name":"vpn.example.org","issuer":"internal CA","expires":"2025-12-31","issued":"2023-12-31","key_bits":"2048",
  "wildcard":false,"auto_renew":false,"environment":"internal","owner":null},
 {"common_name":"ldap.example.org","issuer":"internal CA","expires":"2026-09-30","issued":"2024-09-30","key_bits":"4096",
  "wildcard":false,"auto_renew":true,"environment":"internal","owner":"identity"},
 {"common_name":"mail.example.org","issuer":"Let's Encrypt","expires":"2026-04-20","issued":"2026-01-20","key_bits":"256",
  "wildcard":false,"auto_renew":true,"environment":"staging","owner":""}],
"backup_jobs":[
 {"job":"db-nightly","target":"s3","status":"success","duration_min":42,"size_gb":120.5,"last_run":"2026-03-01","retention_days":30,
  "encrypted":true,"schedule":"daily","error":null},
 {"job":"home-weekly","target":"tape","status":"failed","duration_min":180,"size_gb":900,"last_run":"2026-02-27","retention_days":365,
  "encrypted":false,"schedule":"weekly","error":"tape full"},
 {"job":"mail-nightly","target":"s3","status":"success","duration_min":15,"size_gb":60,"last_run":"2026-03-01","retention_days":30,
  "encrypted":true,"schedule":"daily","error":null},
 {"job":"vm-weekly","target":"nfs","status":"running","duration_min":null,"size_gb":null,"last_run":"2026-03-02","retention_days":90,
  "encrypted":true,"schedule":"weekly","error":null},
 {"job":"logs-daily","target":"s3","status":"failed","duration_min":3,"size_gb":0,"last_run":"2026-03-01","retention_days":7,
  "encrypted":false,"schedule":"daily","error":"timeout"},
 {"job":"etcd-hourly","target":"nfs","status":"success","duration_min":1,"size_gb":0.4,"last_run":"2026-03-02","retention_days":2,
  "encrypted":false,"schedule":"hourly","error":""}]}`,
	"switches": `{"switches":[
 {"hostname":"sw-a1","model":"EX4300","vendor":"Juniper","site":"Lyon","ports":48,"ports_used":40,"firmware":"21.4","stacked":true,
  "status":"up","uptime_days":400,"vlans":["10","20"]},
 {"hostname":"sw-a2","model":"EX2300","vendor":"Juniper","site":"Lyon","ports":24,"ports_used":24,"firmware":"20.1","stacked":false,
  "status":"up","uptime_days":12,"vlans":["10"]},
 {"hostname":"sw-b1","model":"C9300","vendor":"Cisco","site":"Nice","ports":48,"ports_used":3,"firmware":"17.9","stacked":true,
  "status":"down","uptime_days":0,"vlans":[]},
 {"hostname":"sw-b2","model":"C9200","vendor":"Cisco","site":"Nice","ports":24,"ports_used":10,"firmware":"17.9","stacked":false,
  "status":"up","uptime_days":90,"vlans":["10","30"]},
 {"hostname":"sw-c1","model":"C9200","vendor":"Cisco","site":"Paris","ports":24,"ports_used":null,"firmware":null,"stacked":false,
  "status":"maintenance","uptime_days":null,"vlans":["20"]}],
"ports":[
 {"id":1,"switch":"sw-a1","speed_mbps":1000,"vlan":10,"status":"up","description":"uplink to core","poe":true,"mode":"trunk"},
 {"id":2,"switch":"sw-a1","speed_mbps":10000,"vlan":20,"status":"up","description":"","poe":false,"mode":"access"},
 {"id":3,"switch":"sw-b1","speed_mbps":100,"vlan":10,"status":"down","description":"printer","poe":true,"mode":"access"},
 {"id":4,"switch":"sw-b2","speed_mbps":1000,"vlan":30,"status":"disabled","description":null,"poe":false,"mode":"access"},
 {"id":5,"switch":"sw-b2","speed_mbps":1000,"vlan":10,"status":"up","description":"camera","poe":true,"mode":"trunk"},
 {"id":6,"switch":"sw-c1","speed_mbps":null,"vlan":null,"status":"down","description":"spare","poe":false,"mode":"access"}],
"vlans":[
 {"vid":10,"name":"users","purpose":"office"},
 {"vid":20,"name":"servers","purpose":"data"},
 {"vid":30,"name":"voice","purpose":"office"}]}`,
	"licenses": `{"licenses":[
 {"product":"Jira","vendor":"Atlassian","seats":200,"seats_used":180,"cost_per_seat_eur":7.5,"annual_cost_eur":18000,
  "renewal_date":"2026-06-30","auto_renew":true,"department":"Engineering","type":"subscription"},
 {"product":"Confluence","vendor":"Atlassian","seats":200,"seats_used":90,"cost_per_seat_eur":5,"annual_cost_eur":12000,
  "renewal_date":"2026-06-30","auto_renew":true,"department":"Engineering","type":"subscription"},
 {"product":"Figma","vendor":"Figma","seats":25,"seats_used":25,"cost_per_seat_eur":15,"annual_cost_eur":4500,
  "renewal_date":"2026-12-01","auto_renew":false,"department":"Design","type":"subscription"},
 {"product":"Photoshop","vendor":"Adobe","seats":10,"seats_used":4,"cost_per_seat_eur":30,"annual_cost_eur":3600,
  "renewal_date":"2027-02-15","auto_renew":false,"department":"Design","type":"perpetual"},
 {"product":"Slack","vendor":"Salesforce","seats":500,"seats_used":460,"cost_per_seat_eur":8,"annual_cost_eur":48000,
  "renewal_date":"2026-09-01","auto_renew":true,"department":"Company","type":"subscription"},
 {"product":"Sketch","vendor":"Sketch","seats":0,"seats_used":0,"cost_per_seat_eur":null,"annual_cost_eur":0,"renewal_date":null,
  "auto_renew":false,"department":null,"type":"trial"}],
"vendors":[
 {"name":"Atlassian","country":"Australia","contact":"a@example.org","risk":"low","audited":2025},
 {"name":"Adobe","country":"USA","contact":null,"risk":"medium","audited":2023},
 {"name":"Figma","country":"USA","contact":"f@example.org","risk":"low","audited":2024},
 {"name":"Salesforce","country":"USA","contact":"","risk":"high","audited":2025}]}`,
	"incidents": `{"incidents":[
 {"number":"INC100","title":"Database down","service":"billing","severity":1,"priority":"P1","state":"resolved",
  "opened":"2026-01-05T09:00:00Z","resolved":"2026-01-05T12:30:00Z","duration_hours":3.5,"assignee":"Kim","team":"dba",
  "escalated":true,"customers_affected":1200,"tags":["outage","db"]},
 {"number":"INC101","title":"Slow login","service":"auth","severity":3,"priority":"P3","state":"open","opened":"2026-02-10T09:00:00Z",
  "resolved":null,"duration_hours":null,"assignee":null,"team":"identity","escalated":false,"customers_affected":40,"tags":["latency"]},
 {"number":"INC102","title":"Disk full","service":"billing","severity":2,"priority":"P2","state":"in progress",
  "opened":"2026-02-12T09:00:00Z","resolved":null,"duration_hours":null,"assignee":"Lee","team":"dba","escalated":true,
  "customers_affected":0,"tags":["db","capacity"]},
 {"number":"INC103","title":"Certificate expired","service":"shop","severity":1,"priority":"P1","state":"resolved",
  "opened":"2025-12-30T09:00:00Z","resolved":"2025-12-30T10:00:00Z","duration_hours":1,"assignee":"Kim","team":"web","escalated":false,
  "customers_affected":5000,"tags":["outage"]},
 {"number":"INC104","title":"Typo on page","service":"shop","severity":4,"priority":"P4","state":"closed",
  "opened":"2026-02-20T09:00:00Z","resolved":"2026-02-22T09:00:00Z","duration_hours":48,"assignee":"Ann","team":"web",
  "escalated":false,"customers_affected":null,"tags":[]},
 {"number":"INC105","title":"Open ports found","service":"auth","severity":2,"priority":"P2","state":"on hold",
  "opened":"2026-03-01T09:00:00Z","resolved":null,"duration_hours":null,"assignee":"Lee","team":"identity","escalated":false,
  "customers_affected":0,"tags":["security"]}]}`,
}

func TestOperations(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ estate, questions, want string }{ // questions of one conversation, separated by strokes
		{"pods", "Which namespaces belong to data?",
			"2 namespaces: batch, cache.\n\nUnderstood as: listing name of namespaces where team = data."},
		{"pods", "Which teams own clusters?", `"teams" is a field of namespaces, but not of clusters.`},
		{"pods", "How many owners are there?",
			"2 different values of owner.\n\nUnderstood as: counting the values of owner among clusters where owner is set."},
		{"pods", "How many prod pods are there?", `Unknown term "prod": no field or value of pods matches it.`},
		{"backups", "How many certificates have expired?", "The use of field expires was not understood."},
		{"backups", "Which certificates are issued by Let's Encrypt?",
			"2 certificates: mail.example.org, www\\.example.org.\n\nUnderstood as: listing common_name of certificates where issuer = Let's Encrypt."},
		{"backups", "How many certificates were issued in 2026?",
			"3 certificates.\n\nUnderstood as: counting certificates where issued in 2026."},
		{"backups", "Who owns vpn.example.org?",
			"None: 0 certificates.\n\nUnderstood as: listing owner of certificates where common_name = vpn.example.org and owner is set."},
		{"backups", "Which backup jobs run daily?",
			"3 backup jobs: db-nightly, logs-daily, mail-nightly.\n\nUnderstood as: listing job of backup jobs where schedule = daily."},
		{"backups", "How many backup jobs run weekly and failed?",
			"1 backup job.\n\nUnderstood as: counting backup jobs where schedule = weekly and status = failed."},
		{"backups", "What errors are there?",
			"2 values of error: tape full, timeout.\n\nUnderstood as: listing error of backup jobs where error is set."},
		{"backups", "Which job has the shortest retention?",
			"etcd-hourly: 2 retention_days.\n\nUnderstood as: ranking job of backup jobs by smallest retention_days, smallest first."},
		{"backups", "What is the longest retention?",
			"home-weekly: 365 retention_days.\n\nUnderstood as: ranking job of backup jobs by largest retention_days, largest first."},
		{"backups", "Which backup took the longest?",
			"home-weekly: 180 duration_min.\n\nUnderstood as: ranking job of backup jobs by largest duration_min, largest first."},
		{"pods", "How many pods have the most restarts?", "The question was not understood."},
		{"backups", "How many certificates were renewed?", "The use of field auto_renew was not understood."},
		{"backups", "Which job ran last?", "The use of field last_run was not understood."},
		{"backups", "What is the longest running job?", "None of these backup jobs has a number in duration_min."},
		{"backups", "Which target stores the most data?", "It is unclear what to rank target by."},
		{"backups", "How many jobs failed?|which ones?",
			"2 backup jobs: home-weekly, logs-daily.\n\nUnderstood as: listing job of backup jobs where status = failed."},
		{"backups", "How many jobs failed?|which ones are on s3?",
			"1 backup job: logs-daily.\n\nUnderstood as: listing job of backup jobs where status = failed and target = s3."},
		{"backups", "How many jobs failed?|what is their average duration?",
			"91.5: the average of duration_min.\n\nUnderstood as: the average of duration_min over backup jobs where status = failed."},
		{"backups", "How many jobs failed?|how many of these jobs are on s3?",
			"1 backup job.\n\nUnderstood as: counting backup jobs where status = failed and target = s3."},
		{"backups", "How many jobs failed?|on s3?",
			"1 backup job.\n\nUnderstood as: counting backup jobs where status = failed and target = s3."},
		{"backups", "How many jobs failed?|per target and schedule", "Grouping by two fields is not supported."},
		{"backups", "Which target has the most jobs?|which ones?", `It is unclear what "ones" refers to.`},
		{"backups", "How many jobs are there per target?|which has the most?", "The question was not understood."},
		{"backups", "What is the average duration?|per target?",
			"48.2: the average of duration_min; by target:\n- tape: 180\n- s3: 20\n- nfs: 1\n\nUnderstood as: the average of duration_min over backup jobs, by target."},
		{"switches", "Which switches are not up?",
			"2 switches: sw-b1, sw-c1.\n\nUnderstood as: listing hostname of switches where status ≠ up."},
		{"switches", "Which switches have used all ports?", `The meaning of "all" was not understood.`},
		{"switches", "Which switches have all ports used?", `The meaning of "all" was not understood.`},
		{"switches", "Which ports are disabled?", "1 port: 4.\n\nUnderstood as: listing id of ports where status = disabled."},
		{"switches", "What is the fastest port?", "2: 10000 speed_mbps.\n\nUnderstood as: ranking id of ports by largest speed_mbps, largest first."},
		{"switches", "Which switch has the most VLANs?", "It is unclear whether to count the values of vlan or to add them."},
		{"switches", "Which switch has the longest uptime?",
			"sw-a1: 400 uptime_days.\n\nUnderstood as: ranking hostname of switches by largest uptime_days, largest first."},
		{"switches", "Does Lyon have more switches than Nice?",
			"No: both the same: Lyon and Nice have 2 switches each.\n\nUnderstood as: comparing the number of switches where site = Lyon or Nice."},
		{"switches", "How many switches are down?|where are they?",
			"Nice.\n\nUnderstood as: listing site of switches where status = down."},
		{"licenses", "List the vendors", "4 vendors: Adobe, Atlassian, Figma, Salesforce.\n\nUnderstood as: listing name of vendors."},
		{"licenses", "How many licenses have no renewal date?",
			"1 license.\n\nUnderstood as: counting licenses where renewal_date is not set."},
		{"licenses", "How many seats are used?|by department?",
			"759: the sum of seats_used; by department:\n- Company: 460\n- Engineering: 270\n- Design: 29\n\nUnderstood as: the sum of seats_used over licenses, by department."},
		{"incidents", "How many incidents were opened and resolved in 2026?", "The use of field opened was not understood."},
		{"incidents", "How many incidents were resolved in 2026?",
			"2 incidents.\n\nUnderstood as: counting incidents where resolved in 2026."},
		{"incidents", "How many customers were affected by billing incidents?",
			"1200: the sum of customers_affected.\n\nUnderstood as: the sum of customers_affected over incidents where service = billing."},
		{"incidents", "Which incidents affected no customers?", "The use of field customers_affected was not understood."},
		{"incidents", "How many incidents had customers affected?",
			"3 incidents.\n\nUnderstood as: counting incidents where customers_affected > 0."},
		{"incidents", "How long was INC100?",
			"3.5: the sum of duration_hours.\n\nUnderstood as: the sum of duration_hours over incidents where number = INC100."},
		{"incidents", "How many incidents are resolved?|how many of those are P1?",
			"2 incidents.\n\nUnderstood as: counting incidents where state = resolved and priority = P1."},
		{"incidents", "Who is assigned to INC101?",
			"None: 0 of 1 incident has a value of assignee.\n\nUnderstood as: listing assignee of incidents where number = INC101."},
	} {
		t.Run(row.questions, func(t *testing.T) {
			t.Parallel()
			e, err := estate.Parse([]byte(operations[row.estate]))
			if err != nil {
				t.Fatal(err)
			}
			if got, calls := ask(t, e, strings.Split(row.questions, "|")...); !strings.HasPrefix(got, row.want) {
				t.Errorf("got %q\nwant %q\nafter %s", got, row.want, calls)
			}
		})
	}
}
