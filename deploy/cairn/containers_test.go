package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"cairn/bus"
	"cairn/schemas"
	"cairn/test/cairntest"
	"cairn/test/wait"
)

// container starts the service of the compose file as a process on the node, with its
// backends replaced by the given ones, and returns when the process prints line.
func (n node) container(t *testing.T, name, line string, backends map[string]string) *running {
	t.Helper()
	s := compose(t).Services[name]
	environment := maps.Clone(s.Environment)
	if name == "setup" {
		environment["CAIRN_REPLICAS"] = "1"
	}
	maps.Copy(environment, backends)
	for _, variable := range []string{"CAIRN_NATS", "CAIRN_READER_NATS", "CAIRN_KEYS_NATS"} {
		if url, ok := environment[variable]; ok {
			environment[variable] = regexp.MustCompile(`nats-\d:4222`).ReplaceAllString(url, n.Addr().String())
		}
	}
	cmd := program(s.Command...)
	for k, v := range environment {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	p := begin(t, cmd)
	p.waitForOutput(t, line)
	return p
}

// setup creates the streams in the same way as the service setup of the compose file.
func (n node) setup(t *testing.T, replicas string) {
	t.Helper()
	p := n.container(t, "setup", "Created or updated all streams", map[string]string{"CAIRN_REPLICAS": replicas})
	if code := p.waitExit(t); code != 0 || strings.Contains(p.output(), "was not created") {
		t.Fatalf("cairn setup ends with %d:\n%s", code, p.output())
	}
}

// TestContainersOnTheirNode runs the services of the compose file as the users of
// nats.conf and checks that their permissions suffice.
func TestContainersOnTheirNode(t *testing.T) {
	containers(t, map[string]string{"CAIRN_INDEX": "embedded:", "CAIRN_EMBED": vectors(t)}, func(url string) {
		if got := do(t, "", "reindex", "--url", url); got.code != 0 || !strings.Contains(got.out, "nothing to reindex") {
			t.Errorf("%+v", got)
		}
	})
}

// TestRealContainersOnTheirNode is TestContainersOnTheirNode with an Elasticsearch
// index, including a rebuild and a quarantined record.
func TestRealContainersOnTheirNode(t *testing.T) {
	server := strings.TrimSuffix(os.Getenv("CAIRN_TEST_ELASTICSEARCH"), "/")
	if server == "" {
		t.Skip("needs CAIRN_TEST_ELASTICSEARCH, the URL of an Elasticsearch server")
	}
	prefix := "test-" + strings.ToLower(rand.Text()[:10])
	t.Cleanup(func() { removeIndices(t, server, prefix) })
	containers(t, map[string]string{"CAIRN_INDEX": server + "?prefix=" + prefix, "CAIRN_EMBED": vectors(t)},
		func(url string) {
			if got := do(t, "", "reindex", "--url", url); got.code != 0 || !strings.Contains(got.out, "indexing ") {
				t.Errorf("%+v", got)
			}
			body := `{"record":{"skill_id":"a.b","purpose":"` + rejectedText + `"}}`
			if status, answer := cairntest.Request(t, "POST", url+"/register/skill", body); status != 200 {
				t.Errorf("%d %s", status, answer)
			}
			awaitQuarantine(t, url, true)
			if status, answer := cairntest.Request(t, "DELETE", url+"/register/skill/a.b", ""); status != 204 {
				t.Errorf("%d %s", status, answer)
			}
			awaitQuarantine(t, url, false)
		})
}

// healthy returns when no service is degraded. A service caches its health check for
// 250 ms, so a result may predate the start of other services.
func healthy(t *testing.T, url string) {
	t.Helper()
	wait.Success(t, func() error {
		if got := do(t, "", "status", "--url", url); got.code != 0 || strings.Contains(got.out, "degraded") {
			return fmt.Errorf("%+v", got)
		}
		return nil
	})
}

// awaitQuarantine returns when one record is quarantined or, if quarantined is false, none is.
func awaitQuarantine(t *testing.T, url string, quarantined bool) {
	t.Helper()
	wait.Success(t, func() error {
		if _, answer := cairntest.Request(t, "GET", url+"/health", ""); strings.Contains(answer, `"quarantined":1`) != quarantined {
			return fmt.Errorf("quarantined: want %v, got %s", quarantined, answer)
		}
		return nil
	})
}

// removeIndices deletes the indices with the prefix.
func removeIndices(t *testing.T, server, prefix string) {
	t.Helper()
	_, names := cairntest.Request(t, "GET", server+"/_cat/indices/"+prefix+"-*?h=index", "")
	for name := range strings.FieldsSeq(names) {
		if status, answer := cairntest.Request(t, "DELETE", server+"/"+name, ""); status != 200 {
			t.Errorf("remove %s: %s", name, answer)
		}
	}
}

// containers runs the services of the compose file, checks them, and calls further with
// the URL of the edge.
func containers(t *testing.T, backends map[string]string, further func(url string)) {
	t.Helper()
	n := startNode(t, "nats-1", single)
	n.setup(t, "1")
	backends["CAIRN_MODEL"], backends["CAIRN_HTTP"], backends["CAIRN_AUTH"] = "offline:", "127.0.0.1:0", "off"
	processes := []*running{
		n.container(t, "register", "tags, register on", backends),
		n.container(t, "resolve", "resolve on", backends),
		n.container(t, "resolve", "resolve on", backends),
		n.container(t, "analyze", "analyze on", backends),
		n.container(t, "edge", "edge on", backends),
	}
	url := processes[4].URL()
	do(t, "", "apply", "--url", url, "../examples/knowledge").must(t)
	healthy(t, url) // Elasticsearch creates the indices meanwhile
	for _, args := range [][]string{
		{"search", "machines without security patches"},
		{"resolve", "storage.volume_capacity", "--tenant", "acme"},
		{"ask", "--estate", "../examples/estate.json", "how many hosts?"},
	} {
		if got := do(t, "", append(args, "--url", url)...); got.code != 0 || strings.Contains(got.out, "degraded") {
			t.Errorf("%v: %+v", args, got)
		}
	}
	healthy(t, url)
	tagged(t, url)
	large(t, url)
	resumed(t, url)
	for _, row := range []struct{ method, path, body, want string }{
		{"GET", "/runs", "", `"state":"done"`},
		{"POST", "/a2a?A2A-Version=1.0", `{"jsonrpc":"2.0","id":1,"method":"ListTasks"}`, `"tasks":[]`},
	} {
		if status, answer := cairntest.Request(t, row.method, url+row.path, row.body); status != 200 ||
			!strings.Contains(answer, row.want) {
			t.Errorf("%s: got %d %s, want %s", row.path, status, answer, row.want)
		}
	}
	further(url)
	for _, v := range n.Violations() {
		t.Errorf("the server refuses: %s", v)
	}
	for _, p := range processes {
		if strings.Contains(p.output(), password) {
			t.Errorf("a process prints its password:\n%s", p.output())
		}
	}
}

// TestContainersRequireAuthentication checks that the edge of the compose file requires
// authentication unless it is disabled, and that the documented command creates the
// first key.
func TestContainersRequireAuthentication(t *testing.T) {
	n := startNode(t, "nats-1", single)
	n.setup(t, "1")
	edge := n.container(t, "edge", "edge on", map[string]string{"CAIRN_HTTP": "127.0.0.1:0"})
	url := edge.URL()
	if got := do(t, "", "search", "anything", "--url", url); !strings.Contains(got.err, "CE-006") {
		t.Errorf("without a key: %+v", got)
	}
	create := regexp.MustCompile(`run --rm --no-deps setup \\\n#\s+(key create [^\n]*)\n`)
	text, err := os.ReadFile("../compose.yaml")
	match := create.FindStringSubmatch(string(text))
	if err != nil || match == nil {
		t.Fatalf("no first key in the compose file: %v", err)
	}
	cmd := program(append(strings.Fields(match[1]), "-ojson")...)
	cmd.Env = append(cmd.Env, "CAIRN_KEYS_NATS=nats://keys:"+password+"@"+n.Addr().String())
	out, err := cmd.Output()
	var made struct{ Key string }
	if err != nil || json.Unmarshal(out, &made) != nil || made.Key == "" {
		t.Fatalf("%v, %s", err, out)
	}
	wait.Success(t, func() error {
		got := do(t, "", "doctor", "--url", url, "--key", made.Key)
		if !strings.Contains(got.out, "no worker answers cairn.records.list") { // authenticated
			return fmt.Errorf("with a key: %+v", got)
		}
		return nil
	})
	shut := program("edge")
	for k, v := range compose(t).Services["edge"].Environment {
		shut.Env = append(shut.Env, k+"="+v)
	}
	shut.Env = append(shut.Env, "CAIRN_AUTH=off")
	if answer, err := shut.CombinedOutput(); err == nil || !strings.Contains(string(answer), "--insecure") {
		t.Errorf("an edge with CAIRN_AUTH=off alone: %v, %s", err, answer)
	}
}

// rejectedText marks texts that the embedding model rejects.
const rejectedText = "unembeddable"

// vectors returns the URL of an Ollama server that embeds texts by letter frequency.
func vectors(t *testing.T) string {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/show", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"capabilities":["embedding"],"model_info":{}}`)
	})
	mux.HandleFunc("POST /api/embed", func(w http.ResponseWriter, r *http.Request) {
		var received struct{ Input []string }
		_ = json.NewDecoder(r.Body).Decode(&received) // a malformed request gets no vectors
		made := make([][26]float32, len(received.Input))
		for i, text := range received.Input {
			if strings.Contains(text, rejectedText) {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"error":"no"}`)
				return
			}
			for _, letter := range strings.ToLower(text) {
				if 'a' <= letter && letter <= 'z' {
					made[i][letter-'a']++
				}
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"embeddings": made}) // fails if the client has disconnected
	})
	url := serving(t, mux.ServeHTTP)
	return "ollama://" + strings.TrimPrefix(url, "http://") + "/letters"
}

// tagged writes, reads and deletes a tag.
func tagged(t *testing.T, url string) {
	t.Helper()
	for _, row := range []struct {
		method, path, body string
		want               int
	}{
		{"POST", "/tags/write", `{"request_id":"r","flow":"f","tags":{}}`, 201},
		{"POST", "/tags/write", `{"request_id":"r","flow":"f","tags":{}}`, 409},
		{"GET", "/tags/r", "", 200},
		{"DELETE", "/tags/r", "", 204},
		{"GET", "/tags/r", "", 404},
		{"DELETE", "/register/skill/storage.volume_capacity", "", 204},
	} {
		if got, body := cairntest.Request(t, row.method, url+row.path, row.body); got != row.want {
			t.Errorf("%s %s: %d %.300s; want %d", row.method, row.path, got, body, row.want)
		}
	}
}

// large analyzes an estate that exceeds the maximum size of a NATS message.
func large(t *testing.T, url string) {
	t.Helper()
	estate := `{"hosts":[` + strings.Repeat(`{"name":"h","site":"north"},`, 280_000) + `{"name":"last"}]}`
	body := `{"query":"how many hosts?","target":"H","context":` + strconv.Quote(estate) + `}`
	if len(body) < 9<<20 || len(body) > 10<<20 {
		t.Fatalf("a body of %d bytes", len(body))
	}
	if got, answer := cairntest.Request(t, "POST", url+"/api/v1/analyze", body); got != 200 || !strings.Contains(answer,
		"280001") ||
		!strings.Contains(answer, "event: "+schemas.EventDone) {
		t.Errorf("%d %.1000s", got, answer)
	}
}

// resumed replays an analysis.
func resumed(t *testing.T, url string) {
	t.Helper()
	res, err := http.Post(url+"/api/v1/analyze", "application/json",
		strings.NewReader(`{"query":"how many hosts?","target":"H","context":"{\"hosts\":[{}]}"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	first, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	run := url + "/api/v1/analyze/" + res.Header.Get(bus.HeaderRun)
	if status, again := cairntest.Request(t, "GET", run, ""); status != 200 || again != string(first) {
		t.Errorf("the replay is %d %s, the first answer was %s", status, again, first)
	}
	if status, answer := cairntest.Request(t, "DELETE", run, ""); status != 204 {
		t.Errorf("%d %s", status, answer)
	}
}
