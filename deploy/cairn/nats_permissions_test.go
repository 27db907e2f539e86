package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"cairn/bus"
	"cairn/test/wait"
)

// permission is an operation on a subject, with the users that are allowed to perform it.
// edge/docs/nats-permissions.md contains the generated table.
type permission struct {
	subject string
	users   string
	purpose string
}

var mayPublish = []permission{
	{"cairn.tags.write", "edge platform", "requests"},
	{"cairn.register.skill", "edge platform", "requests"},
	{"cairn.resolve.skill", "edge platform", "requests"},
	{"cairn.records.get", "edge platform", "requests"},
	{"cairn.records.referrers", "edge worker platform", "requests; a deletion asks for referrers"},
	{"cairn.skills", "edge platform", "requests"},
	{"cairn.tools", "edge platform", "requests"},
	{"cairn.analyze", "edge platform", "requests"},
	{"cairn.runs", "edge platform", "requests"},
	{"cairn.audit", "edge platform", "requests"},
	{"cairn.watch", "edge platform", "requests"},
	{"cairn.health.resolve", "edge worker platform", "requests; registration waits for resolution"},
	{"cairn.render", "worker", "requests to the rendering agent"},
	{"cairn.projected", "worker", "progress of the shared index"},
	{"cairn.usage.tags", "worker", "number and size of the tags of each tenant"},
	{"cairn.usage.records.KEY", "worker", "counts of the uses of records"},
	{"cairn.runs.SUMMARY", "worker", "summaries of analyses"},
	{"cairn.analyze.RUN", "edge", "flow control and cancellation of a run"},
	{"cairn.analyze.RUN.body", "edge", "chunks of the body of a run"},
	{"cairn.analyze.RUN.event", "worker", "events of a run"},
	{"cairn.analyze.RUN.replay", "worker", "the same, retained for replay"},
	{"_INBOX_edge.ID", "worker", "replies"},
	{"_INBOX_worker.ID", "edge worker", "replies; chunks of large bodies"},
	{"_INBOX_operator.ID", "", "replies of the server"},
	{"_INBOX_keys.ID", "", "replies of the server"},
	{"_INBOX_reader.ID", "", "replies of the server"},
	{"_INBOX_platform.ID", "", "replies of workers"},
	{"_INBOX_system.ID", "", "replies of the server"},
	{"_INBOX.ID", "", "inboxes without a user"},
	{"$SRV.PING", "", "discovery of services"},

	{"$KV.cairn_catalog.KEY", "operator worker", "records; the operator restores them"},
	{"$KV.cairn_quarantine.KEY", "operator worker", "rejected records; the operator restores them"},
	{"$KV.cairn_tags.KEY", "operator worker", "tags; the operator restores them"},
	{"$KV.cairn_embeddings.KEY", "worker", "cached vectors"},
	{"$KV.cairn_keys.KEY", "keys", "API keys"},
	{"$KV.cairn_audit.records.*", "operator worker", "changes of records; the operator restores them"},
	{"$KV.cairn_audit.keys.*", "operator keys", "changes of API keys; the operator restores them"},
	{"$KV.other.KEY", "", "any other bucket"},
	{"$JS.ACK.KV_cairn_catalog.C.1.2.3.4.5", "worker", "acknowledgements of the projection"},
	{"$JS.ACK.KV_cairn_tags.C.1.2.3.4.5", "", "any other acknowledgement"},

	{"$JS.API.INFO", "operator worker keys", "limits of the account"},
	{"$JS.API.STREAM.NAMES", "", "any other request to the JetStream API"},
	{"$JS.API.STREAM.LIST", "", "any other request to the JetStream API"},
	{"$JS.API.STREAM.CREATE.other", "", "any other stream"},
	{"$JS.API.ACCOUNT.PURGE.CAIRN", "", "administration of the server"},
	{"$SYS.REQ.SERVER.PING", "", "administration of the server"},
	{"$SYS.REQ.SERVER.PING.JSZ", "system", "state of the cluster"},
	{"$JS.API.SERVER.REMOVE", "system", "removal of a node from the cluster"},
}

var maySubscribe = []permission{
	{"_INBOX_edge.>", "edge", "its replies"},
	{"_INBOX_worker.>", "worker", "its replies"},
	{"_INBOX_operator.>", "operator", "its replies"},
	{"_INBOX_keys.>", "keys", "its replies"},
	{"_INBOX_reader.>", "reader", "its replies"},
	{"_INBOX_platform.>", "platform", "its replies"},
	{"_INBOX_system.>", "system", "its replies"},
	{"_INBOX.>", "platform", "its replies, in its own account"},
	{"_INBOX*.>", "", "replies of others"},
	{"*.>", "", "replies of others"},
	{"_R_.>", "", "replies to other accounts"},
	{">", "", "everything"},
	{"cairn.>", "", "requests of others"},
	{"cairn.> in queue q", "worker", "requests, each delivered to one worker"},
	{"cairn.projected", "worker", "progress of the shared index"},
	{"cairn.usage.tags", "worker", "number and size of the tags of each tenant"},
	{"cairn.analyze.RUN", "worker", "flow control and cancellation of a run"},
	{"cairn.analyze.RUN.body", "worker", "chunks of the body of a run"},
	{"cairn.analyze.RUN.event", "edge platform", "events of a run that a client resumes"},
	{"cairn.analyze.RUN.replay", "", "events of others"},
	{"$SRV.PING", "worker", "discovery of services"},
	{"$KV.>", "", "changes of values"},
	{"$KV.cairn_keys.>", "", "changes of values"},
	{"$JS.API.>", "", "calls of others"},
	{"$JS.EVENT.>", "", "events of the server"},
}

// streamAPI lists the users with permission for each JetStream API request, by stream.
// All other requests are denied to every user.
var streamAPI = map[string]map[string]string{
	"KV_cairn_catalog": {
		"STREAM.CREATE.S": "operator", "STREAM.UPDATE.S": "operator", "STREAM.INFO.S": "operator worker",
		"STREAM.PURGE.S":   "operator",
		"STREAM.MSG.GET.S": "worker", "DIRECT.GET.S": "operator worker", "CONSUMER.CREATE.S": "worker",
		"CONSUMER.CREATE.S.C":         "operator worker",
		"CONSUMER.DURABLE.CREATE.S.C": "worker", "CONSUMER.INFO.S.C": "operator worker",
		"CONSUMER.DELETE.S.C":   "operator worker",
		"CONSUMER.MSG.NEXT.S.C": "operator worker",
	},
	"cairn_history": {
		"STREAM.CREATE.S": "operator", "STREAM.UPDATE.S": "operator", "STREAM.INFO.S": "operator worker",
		"STREAM.DELETE.S": "operator", "DIRECT.GET.S": "operator worker", "CONSUMER.CREATE.S.C": "operator",
		"CONSUMER.INFO.S.C": "operator", "CONSUMER.DELETE.S.C": "operator", "CONSUMER.MSG.NEXT.S.C": "operator",
	},
	"cairn_usage": {
		"STREAM.CREATE.S": "operator", "STREAM.UPDATE.S": "operator", "STREAM.INFO.S": "operator worker",
		"DIRECT.GET.S": "worker",
	},
	"cairn_runs": {
		"STREAM.CREATE.S": "operator", "STREAM.UPDATE.S": "operator", "STREAM.INFO.S": "operator worker",
		"DIRECT.GET.S": "worker",
	},
	"KV_cairn_tags": {
		"STREAM.CREATE.S": "operator", "STREAM.UPDATE.S": "operator", "STREAM.INFO.S": "operator worker",
		"STREAM.PURGE.S": "worker", "STREAM.MSG.GET.S": "worker", "DIRECT.GET.S": "worker",
		"CONSUMER.CREATE.S": "worker", "CONSUMER.CREATE.S.C": "operator worker", "CONSUMER.INFO.S.C": "operator worker",
		"CONSUMER.DELETE.S.C": "operator worker", "CONSUMER.MSG.NEXT.S.C": "operator worker",
	}, "KV_cairn_embeddings": {
		"STREAM.CREATE.S": "operator", "STREAM.UPDATE.S": "operator", "STREAM.INFO.S": "operator worker",
		"DIRECT.GET.S": "worker",
	},
	"KV_cairn_quarantine": {
		"STREAM.CREATE.S": "operator", "STREAM.UPDATE.S": "operator", "STREAM.INFO.S": "operator worker",
		"STREAM.MSG.GET.S": "worker", "DIRECT.GET.S": "worker", "CONSUMER.CREATE.S": "worker",
		"CONSUMER.CREATE.S.C": "operator worker",
		"CONSUMER.INFO.S.C":   "operator worker", "CONSUMER.DELETE.S.C": "operator worker",
		"CONSUMER.MSG.NEXT.S.C": "operator worker",
	},
	"cairn_analyze": {
		"STREAM.CREATE.S": "operator", "STREAM.UPDATE.S": "operator", "STREAM.INFO.S": "operator reader worker",
		"DIRECT.GET.S": "reader worker",
	},
	"KV_cairn_audit": {
		"STREAM.CREATE.S": "operator", "STREAM.UPDATE.S": "operator", "STREAM.INFO.S": "operator worker",
		"DIRECT.GET.S": "worker", "CONSUMER.CREATE.S.C": "operator", "CONSUMER.INFO.S.C": "operator",
		"CONSUMER.DELETE.S.C": "operator", "CONSUMER.MSG.NEXT.S.C": "operator",
	},
	"KV_cairn_keys": {
		"STREAM.CREATE.S": "keys", "STREAM.UPDATE.S": "keys", "STREAM.INFO.S": "keys reader worker",
		"STREAM.MSG.GET.S":  "keys reader",
		"CONSUMER.CREATE.S": "keys", "CONSUMER.CREATE.S.C": "keys", "CONSUMER.INFO.S.C": "keys",
		"CONSUMER.DELETE.S.C": "keys", "CONSUMER.MSG.NEXT.S.C": "keys",
	},
}

var streamRequests = []string{
	"STREAM.CREATE.S", "STREAM.UPDATE.S", "STREAM.INFO.S", "STREAM.PURGE.S", "STREAM.DELETE.S", "STREAM.SNAPSHOT.S",
	"STREAM.RESTORE.S",
	"STREAM.MSG.GET.S", "STREAM.MSG.DELETE.S", "STREAM.LEADER.STEPDOWN.S", "STREAM.PEER.REMOVE.S", "DIRECT.GET.S",
	"CONSUMER.CREATE.S", "CONSUMER.CREATE.S.C", "CONSUMER.DURABLE.CREATE.S.C", "CONSUMER.INFO.S.C", "CONSUMER.DELETE.S.C",
	"CONSUMER.MSG.NEXT.S.C",
}

// streams lists the streams in the order of the table.
var streams = []string{
	"KV_cairn_catalog", "cairn_history", "cairn_usage", "cairn_runs", "KV_cairn_tags", "KV_cairn_embeddings",
	"KV_cairn_quarantine", "cairn_analyze", "KV_cairn_audit", "KV_cairn_keys",
}

// publications returns mayPublish and a row for each JetStream API request.
func publications() []permission {
	rows := slices.Clone(mayPublish)
	for _, stream := range streams {
		for _, request := range streamRequests {
			operation, consumer := strings.CutSuffix(request, ".S.C")
			subject := "$JS.API." + strings.TrimSuffix(operation, ".S") + "." + stream
			if consumer {
				subject += ".C"
			}
			rows = append(rows, permission{subject, streamAPI[stream][request], "JetStream API"})
		}
	}
	return rows
}

var (
	natsUsers = []string{"edge", "reader", "worker", "operator", "keys", "platform", "system"}
	violation = regexp.MustCompile(`Permissions Violation for (?:Publish to|Subscription to) "([^"]*)"`)
)

// refusals collects the subjects that a server denies to a connection.
type refusals struct {
	mu       sync.Mutex
	subjects map[string]bool
}

func (r *refusals) note(_ *nats.Conn, _ *nats.Subscription, err error) {
	if m := violation.FindStringSubmatch(err.Error()); m != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.subjects[m[1]] = true
	}
}

func (r *refusals) has(subject string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.subjects[subject]
}

// await returns when the server has denied the last subject.
func (r *refusals) await(t *testing.T, last string) {
	t.Helper()
	wait.Until(t, last+" is denied", func() bool { return r.has(last) })
}

// TestSubjectsHavePermissions checks that mayPublish has a row for the first token of each subject
// after the prefix, by which the configuration grants permissions.
func TestSubjectsHavePermissions(t *testing.T) {
	t.Parallel()
	token := func(subject string) string { return strings.Split(subject, ".")[1] }
	granted := map[string]bool{}
	for _, row := range mayPublish {
		if strings.HasPrefix(row.subject, "cairn.") {
			granted[token(row.subject)] = true
		}
	}
	for _, o := range bus.Operations() {
		if !granted[token(o.Subject)] {
			t.Errorf("%s: no row in mayPublish", o.Subject)
		}
	}
}

// TestNATSPermissions tries every row of the permission table as every user. Publications
// have no reply subject and an invalid body, so allowed ones have no effect.
func TestNATSPermissions(t *testing.T) {
	n := startNode(t, "nats-1", single)
	const last = "the.last.subject"
	for _, user := range natsUsers {
		t.Run(user, func(t *testing.T) {
			r := &refusals{subjects: map[string]bool{}}
			nc := n.dial(t, user, nats.ErrorHandler(r.note))
			rows := publications()
			for _, row := range rows {
				if err := nc.Publish(row.subject, []byte("not JSON")); err != nil {
					t.Fatal(err)
				}
			}
			if err := nc.Publish(last, nil); err != nil {
				t.Fatal(err)
			}
			r.await(t, last)
			for _, row := range rows {
				if may := slices.Contains(strings.Fields(row.users), user); may == r.has(row.subject) {
					t.Errorf("publish %s: got %v, want %v", row.subject, !may, may)
				}
			}
		})
		t.Run(user+" subscribes", func(t *testing.T) {
			for _, row := range maySubscribe {
				r := &refusals{subjects: map[string]bool{}}
				nc := n.dial(t, user, nats.ErrorHandler(r.note))
				subject, queue, _ := strings.Cut(row.subject, " in queue ")
				if _, err := nc.QueueSubscribeSync(subject, queue); err != nil {
					t.Fatal(err)
				}
				if err := nc.Publish(last, nil); err != nil {
					t.Fatal(err)
				}
				r.await(t, last)
				if may := slices.Contains(strings.Fields(row.users), user); may == r.has(subject) {
					t.Errorf("subscribe %s: got %v, want %v", row.subject, !may, may)
				}
				nc.Close()
			}
		})
	}
	for _, who := range []nats.Option{nil, nats.UserInfo("edge", "wrong"), nats.UserInfo("cluster", password)} {
		if nc, err := nats.Connect(n.ClientURL(), who); err == nil {
			nc.Close()
			t.Error("a client without valid credentials was accepted")
		}
	}
}

func permissionTables() string {
	var b strings.Builder
	table := func(title string, rows []permission) {
		fmt.Fprintf(&b, "%s\n\n| subject | %s | |\n|---|%s---|\n", title, strings.Join(natsUsers, " | "),
			strings.Repeat(":-:|", len(natsUsers)))
		for _, row := range rows {
			fmt.Fprintf(&b, "| `%s` |", row.subject)
			for _, user := range natsUsers {
				if slices.Contains(strings.Fields(row.users), user) {
					b.WriteString(" ✓ |")
				} else {
					b.WriteString(" |")
				}
			}
			fmt.Fprintf(&b, " %s |\n", row.purpose)
		}
	}
	table("Publish:", publications())
	b.WriteString("\n")
	table("Subscribe:", maySubscribe)
	return b.String()
}
