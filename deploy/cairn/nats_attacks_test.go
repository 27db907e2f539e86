package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/test/wait"
)

// stored maps stream names to message counts, sequences and configuration.
type stored map[string]string

// stored returns the streams of an account, by name.
func (n node) stored(t *testing.T, account string) stored {
	t.Helper()
	z, err := n.JszAccount(&server.JSzOptions{Account: account, Streams: true, Config: true})
	if err != nil {
		t.Fatal(err)
	}
	buckets := stored{}
	for _, s := range z.Streams {
		config, err := json.Marshal(s.Config)
		if err != nil {
			t.Fatal(err)
		}
		buckets[s.Name] = fmt.Sprintf("%d messages from %d to %d, %s", s.State.Msgs, s.State.FirstSeq, s.State.LastSeq,
			config)
		if slices.Contains([]string{"KV_cairn_catalog", "KV_cairn_tags", "cairn_history"}, s.Name) {
			buckets[s.Name] = fmt.Sprintf("%s, %s", n.messages(t, s.Name), config)
		}
	}
	return buckets
}

// messages returns the number of messages of a stream for each subject, without the fences that workers write.
func (n node) messages(t *testing.T, stream string) string {
	t.Helper()
	nc := n.dial(t, "operator")
	defer nc.Close()
	reply, err := nc.Request("$JS.API.STREAM.INFO."+stream, []byte(`{"subjects_filter":">"}`), wait.Timeout)
	if err != nil {
		t.Fatal(err)
	}
	var info jetstream.StreamInfo
	if err := json.Unmarshal(reply.Data, &info); err != nil {
		t.Fatal(err)
	}
	total := 0
	isFence := func(subject string, _ uint64) bool { return strings.HasSuffix(subject, ".=fence") }
	maps.DeleteFunc(info.State.Subjects, isFence)
	for _, count := range info.State.Subjects {
		total += int(count)
	}
	return fmt.Sprintf("%d messages %v", total, info.State.Subjects)
}

// attack is a message from a compromised process.
type attack struct {
	name, user            string
	subject, reply, value string
}

// injected lists JetStream requests of a user with reply subjects on which the user has
// no publish permission. JetStream replies to any subject with its own permissions.
func injected(user string, requests ...[2]string) (list []attack) {
	for _, reply := range []string{
		"$KV.cairn_keys.attacker", "$KV.cairn_catalog.skill._global.a.b", "$KV.cairn_tags.r",
		"$JS.API.STREAM.DELETE.KV_cairn_keys", "$JS.API.STREAM.PURGE.KV_cairn_keys", "$JS.API.STREAM.DELETE.KV_cairn_catalog",
		"$JS.API.STREAM.PURGE.KV_cairn_catalog",
	} {
		for _, r := range requests {
			list = append(list, attack{"the reply to " + r[0] + " goes to " + reply, user, r[0], reply, r[1]})
		}
	}
	return list
}

// TestAttacksOnStreams checks that the users of workers, edges and the platform cannot
// create API keys or modify streams without permission. No attack may change the streams
// of the account KEYS, and no attack of an edge or the platform the streams of CAIRN.
func TestAttacksOnStreams(t *testing.T) {
	n := startNode(t, "nats-1", single)
	n.setup(t, "1")
	backends := map[string]string{"CAIRN_INDEX": "embedded:", "CAIRN_EMBED": "lexical:", "CAIRN_MODEL": "offline:"}
	n.container(t, "register", "tags, register on", backends)
	n.container(t, "resolve", "resolve on", backends)
	n.container(t, "analyze", "analyze on", backends)
	createKey(t, n.secret("keys-url"), "--all-tenants", "--role", "admin")
	worker := n.dial(t, "worker")
	for _, subject := range []string{"$KV.cairn_catalog.skill._global.YS5i", "$KV.cairn_tags.cg"} {
		if _, err := worker.Request(subject,
			[]byte(`{"name":"KV_cairn_catalog","subjects":["$KV.cairn_catalog.>"],"max_msgs":1}`),
			10*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	const emptied = `{"name":"KV_cairn_catalog","subjects":["$KV.cairn_catalog.>"],"max_msgs":1,"discard":"old"}`
	attacks := []attack{
		{"a worker has values of a bucket republished as keys", "worker", "$JS.API.STREAM.UPDATE.KV_cairn_tags",
			"_INBOX_worker.a",
			`{"name":"KV_cairn_tags","subjects":["$KV.cairn_tags.>"],"republish":{"src":"$KV.cairn_tags.>","dest":"$KV.cairn_keys.>"}}`},
		{"a worker empties the catalog", "worker", "$JS.API.STREAM.UPDATE.KV_cairn_catalog", "_INBOX_worker.a", emptied},
		{"a worker purges the catalog", "worker", "$JS.API.STREAM.PURGE.KV_cairn_catalog", "_INBOX_worker.a", ""},
		{"a worker deletes the catalog", "worker", "$JS.API.STREAM.DELETE.KV_cairn_catalog", "_INBOX_worker.a", ""},
		{"a worker deletes a record from the log", "worker", "$JS.API.STREAM.MSG.DELETE.KV_cairn_catalog", "_INBOX_worker.a",
			`{"seq":1}`},
		{"a worker copies the keys", "worker", "$JS.API.STREAM.CREATE.cairn_analyze", "_INBOX_worker.a",
			`{"name":"cairn_analyze","sources":[{"name":"KV_cairn_keys"}]}`},
		{"a worker creates a consumer that delivers to the keys", "worker", "$JS.API.CONSUMER.CREATE.KV_cairn_catalog",
			"_INBOX_worker.a",
			`{"stream_name":"KV_cairn_catalog","config":{"deliver_subject":"$KV.cairn_keys.attacker",` +
				`"deliver_policy":"all","ack_policy":"none","replay_policy":"instant"}}`},
		{"a worker publishes a key", "worker", "$KV.cairn_keys.attacker", "", "{}"},
		{"an edge publishes a key", "edge", "$KV.cairn_keys.attacker", "", "{}"},
		{"an edge makes a worker reply to a catalog subject", "edge", "cairn.skills", "$KV.cairn_catalog.skill._global.a.b",
			`{}`},
		{"an edge makes a worker send an error to a catalog subject", "edge", "cairn.skills",
			"$KV.cairn_catalog.skill._global.a.b", `not JSON`},
		{"an edge makes a worker publish events to a catalog subject", "edge", "cairn.analyze",
			"$KV.cairn_catalog.skill._global.a.b",
			`{"query":"how many hosts?","context":"{}","target":"H"}`},
		{"an edge makes a worker reply to the JetStream API", "edge", "cairn.skills", "$JS.API.STREAM.PURGE.KV_cairn_catalog",
			`{}`},
		{"a platform service makes a worker reply to a catalog subject", "platform", "cairn.skills",
			"$KV.cairn_catalog.skill._global.a.b", `{}`},
		{"the platform publishes a record", "platform", "$KV.cairn_catalog.skill._global.a.b", "", `{}`},
		{"the platform publishes a key", "platform", "$KV.cairn_keys.attacker", "", `{}`},
		{"the platform deletes the keys", "platform", "$JS.API.STREAM.DELETE.KV_cairn_keys", "_INBOX.a", ""},
	}
	reads := [][2]string{
		{"$JS.API.STREAM.INFO.KV_cairn_keys", ""}, {"$JS.API.STREAM.MSG.GET.KV_cairn_keys", `{"seq":1}`},
		{"$JS.API.STREAM.INFO.cairn_analyze", ""}, {"$JS.API.DIRECT.GET.cairn_analyze", `{"seq":1}`},
		{"$JS.API.DIRECT.GET.KV_cairn_catalog", `{"seq":9}`},
	}
	attacks = append(attacks, injected("reader", reads...)...)
	attacks = append(attacks, injected("edge", reads...)...)
	attacks = append(attacks, injected("platform", reads...)...)
	for _, reply := range []string{"$KV.cairn_keys.attacker", "$JS.API.STREAM.DELETE.KV_cairn_keys",
		"$JS.API.STREAM.PURGE.KV_cairn_keys"} {
		for _, r := range [][2]string{{"$JS.API.STREAM.INFO.KV_cairn_catalog", ""},
			{"$JS.API.DIRECT.GET.KV_cairn_tags", `{"seq":1}`},
			{"$JS.API.DIRECT.GET.KV_cairn_tags", `{"seq":9}`}, {"$JS.API.STREAM.MSG.GET.KV_cairn_catalog", `{"seq":1}`}} {
			attacks = append(attacks, attack{"the reply to " + r[0] + " goes to " + reply, "worker", r[0], reply, r[1]})
		}
	}
	conns := map[string]*nats.Conn{}
	for _, user := range []string{"edge", "reader", "platform", "worker"} {
		conns[user] = n.dial(t, user, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	}
	wait.Until(t, "the mirror of the catalog is complete", func() bool {
		return strings.HasPrefix(n.stored(t, "CAIRN")["cairn_history"], "1 messages")
	})
	for _, a := range attacks {
		keys, cairn := n.stored(t, "KEYS"), n.stored(t, "CAIRN")
		if len(keys) != 1 || len(cairn) != 9 {
			t.Fatalf("the streams are %v and %v", keys, cairn)
		}
		nc := conns[a.user]
		if err := nc.PublishMsg(&nats.Msg{Subject: a.subject, Reply: a.reply, Data: []byte(a.value)}); err != nil {
			t.Fatal(err)
		}
		n.waitProcessed(t, nc)
		if diff := cmp.Diff(keys, n.stored(t, "KEYS")); diff != "" {
			t.Errorf("%s: %s: keys (-before +after):\n%s", a.user, a.name, diff)
		}
		if diff := cmp.Diff(cairn, n.stored(t, "CAIRN")); diff != "" &&
			!(a.user == "worker" && strings.Contains(a.name, "goes to")) {
			t.Errorf("%s: %s: streams (-before +after):\n%s", a.user, a.name, diff)
		}
	}
	if got := do(t, "", "key", "list", "--nats", n.secret("keys-url")); got.code != 0 ||
		strings.Count(got.out, "admin") != 1 ||
		strings.Contains(got.out, "attacker") {
		t.Errorf("the keys are %+v", got)
	}
}

// TestWorkerRepliesInItsAccount records what a hostile process with the password of worker can
// do to the streams of its own account: it stores a JetStream request as the value of a tag and
// reads it with the subject of the request as reply subject. JetStream then sends the value
// there with its own permissions. edge/docs/nats-permissions.md lists these effects; a row that
// no longer has one, or a new one, changes the guarantees. No row may change the streams of KEYS.
func TestWorkerRepliesInItsAccount(t *testing.T) {
	const itsConfig = "the configuration of the catalog with max_age" // is replaced
	for _, row := range []struct {
		name, reply, value string
		does               bool // the attack has an effect on the streams of CAIRN
	}{
		{"purges the catalog", "$JS.API.STREAM.PURGE.KV_cairn_catalog", "", true},
		{"deletes the catalog", "$JS.API.STREAM.DELETE.KV_cairn_catalog", "", true},
		// the stream denies it
		{"deletes a record from the log", "$JS.API.STREAM.MSG.DELETE.KV_cairn_catalog", `{"seq":1}`, false},
		{"deletes the history", "$JS.API.STREAM.DELETE.cairn_history", "", true},
		{"creates a stream", "$JS.API.STREAM.CREATE.other", `{"name":"other","subjects":["other"],"storage":"memory"}`, true},
		{"changes the configuration of the catalog", "$JS.API.STREAM.UPDATE.KV_cairn_catalog", itsConfig, true},
		{"writes a record", "$KV.cairn_catalog.skill._global.YS5j", "{}", true},
		{"writes a key", "$KV.cairn_keys.attacker", "{}", false},
		{"deletes the keys", "$JS.API.STREAM.DELETE.KV_cairn_keys", "", false},
		{"purges the keys", "$JS.API.STREAM.PURGE.KV_cairn_keys", "", false},
		{"copies the keys", "$JS.API.STREAM.CREATE.other",
			// empty: nothing answers
			`{"name":"other","storage":"memory","sources":[{"name":"KV_cairn_keys","external":{"api":"$JS.KEYS.API"}}]}`, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			n := startNode(t, "nats-1", single)
			n.setup(t, "1")
			createKey(t, n.secret("keys-url"), "--all-tenants", "--role", "admin")
			worker := n.dial(t, "worker")
			if row.value == itsConfig {
				row.value = n.catalogConfig(t, worker)
			}
			for subject, value := range map[string]string{"$KV.cairn_catalog.skill._global.YS5i": "{}",
				"$KV.cairn_tags.cg": row.value} {
				if _, err := worker.Request(subject, []byte(value), 10*time.Second); err != nil {
					t.Fatal(err)
				}
			}
			wait.Until(t, "the mirror of the catalog is complete", func() bool {
				return strings.HasPrefix(n.stored(t, "CAIRN")["cairn_history"], "1 messages")
			})
			keys, cairn := n.stored(t, "KEYS"), n.stored(t, "CAIRN")
			last := []byte(`{"last_by_subj":"$KV.cairn_tags.cg"}`)
			if err := worker.PublishMsg(&nats.Msg{Subject: "$JS.API.DIRECT.GET.KV_cairn_tags", Reply: row.reply,
				Data: last}); err != nil {
				t.Fatal(err)
			}
			changed := func() bool { return !cmp.Equal(cairn, n.stored(t, "CAIRN")) }
			if row.does {
				wait.Until(t, "a worker "+row.name, changed)
			} else {
				for range 2 { // JetStream has processed the read, and then the message that it caused
					if _, err := worker.Request("$JS.API.DIRECT.GET.KV_cairn_tags", last, 10*time.Second); err != nil {
						t.Fatal(err)
					}
					if _, err := worker.Request("$JS.API.STREAM.INFO.KV_cairn_catalog", nil, 10*time.Second); err != nil {
						t.Fatal(err)
					}
				}
				if changed() {
					t.Errorf("a worker %s: streams (-before +after):\n%s", row.name, cmp.Diff(cairn, n.stored(t, "CAIRN")))
				}
			}
			if diff := cmp.Diff(keys, n.stored(t, "KEYS")); diff != "" {
				t.Errorf("a worker %s: keys (-before +after):\n%s", row.name, diff)
			}
			if messages := n.stored(t, "CAIRN")["other"]; messages != "" && !strings.HasPrefix(messages, "0 messages") {
				t.Errorf("a worker %s: the new stream has %s", row.name, messages)
			}
		})
	}
}

// catalogConfig returns the configuration of the catalog's stream with another max_age.
func (n node) catalogConfig(t *testing.T, worker *nats.Conn) string {
	t.Helper()
	reply, err := worker.Request("$JS.API.STREAM.INFO.KV_cairn_catalog", nil, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var info struct {
		Config map[string]any `json:"config"`
	}
	if err := json.Unmarshal(reply.Data, &info); err != nil {
		t.Fatal(err)
	}
	info.Config["max_age"] = time.Hour
	config, err := json.Marshal(info.Config)
	if err != nil {
		t.Fatal(err)
	}
	return string(config)
}

// waitProcessed returns when the server, the services and JetStream have processed all
// messages of nc.
func (n node) waitProcessed(t *testing.T, nc *nats.Conn) {
	t.Helper()
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	worker, edge := n.dial(t, "worker"), n.dial(t, "edge")
	defer worker.Close()
	defer edge.Close()
	for range 2 { // the second round follows messages that the first one caused
		if _, err := edge.Request("cairn.skills", []byte("{}"), 10*time.Second); err != nil {
			t.Fatal(err)
		}
		for _, stream := range []string{"KV_cairn_catalog", "KV_cairn_tags", "cairn_analyze"} {
			if _, err := worker.Request("$JS.API.STREAM.INFO."+stream, nil, 10*time.Second); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestInboxesArePrivate checks that no user can subscribe to the replies of another one.
func TestInboxesArePrivate(t *testing.T) {
	n := startNode(t, "nats-1", single)
	n.setup(t, "1")
	requests := map[string]string{
		"worker": "$JS.API.STREAM.INFO.KV_cairn_catalog", "operator": "$JS.API.STREAM.INFO.KV_cairn_catalog",
		"keys": "$JS.API.STREAM.INFO.KV_cairn_keys", "reader": "$JS.API.STREAM.INFO.KV_cairn_keys",
	}
	for user, subject := range requests {
		for _, intruder := range natsUsers {
			if intruder == user {
				continue
			}
			spy := n.dial(t, intruder, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
			sub, err := spy.SubscribeSync("_INBOX_" + user + ".>")
			if err != nil {
				t.Fatal(err)
			}
			if err := spy.Flush(); err != nil {
				t.Fatal(err)
			}
			if _, err := n.dial(t, user).Request(subject, nil, 10*time.Second); err != nil {
				t.Fatalf("%s: %v", user, err)
			}
			if err := spy.Flush(); err != nil {
				t.Fatal(err)
			}
			if count, _, err := sub.Pending(); err == nil && count > 0 {
				t.Errorf("%s reads a reply to %s", intruder, user)
			}
			spy.Close()
		}
	}
}
