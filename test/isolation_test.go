package test

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"cairn/schemas"
)

// probe is a request of another tenant ($2) for data of the owner ($). The owner's
// data contain a secret word, #.
type probe struct {
	request, body string
	onNATS        string // NATS body, if the HTTP request has its parameters in the URL
	status        int    // expected for the other tenant
	shown         bool   // the same request of the owner returns the secret
}

// probes has at least one probe for every route of the edge, in the order of the
// route names.
var probes = map[string][]probe{
	"GET /health":         {{request: "GET /health", status: 200}},
	"GET /openapi.json":   {{request: "GET /openapi.json", status: 200}},
	"GET /docs":           {{request: "GET /docs", status: 200}},
	"GET /docs/reference": {{request: "GET /docs/reference", status: 200}},
	"GET /docs/search":    {{request: "GET /docs/search?q=$", status: 200}},
	"GET /docs/{page}":    {{request: "GET /docs/concepts", status: 200}},
	"GET /health/live":    {{request: "GET /health/live", status: 200}},
	"GET /health/ready":   {{request: "GET /health/ready", status: 200}},
	"GET /metrics":        {{request: "GET /metrics", status: 403}},

	"GET /tags/{request_id}": {{request: "GET /tags/$", onNATS: `{"request_id":"$"}`, status: 404, shown: true},
		{request: "GET /tags/$?tenant_id=$", onNATS: `{"request_id":"$","tenant_id":"$"}`, status: 403, shown: true}},
	"DELETE /tags/{request_id}": {{request: "DELETE /tags/$", onNATS: `{"request_id":"$"}`, status: 204}},
	"POST /tags/write": {{request: "POST /tags/write", body: `{"request_id":"$","flow":"f","tags":{}}`, status: 201},
		{request: "POST /tags/write", body: `{"request_id":"$","flow":"f","tags":{},"tenant_id":"$"}`, status: 403}},

	"POST /register/skill":           registers("skill_id", "record"),
	"POST /register/agent":           registers("agent_id", "agent_data"),
	"POST /register/tool":            registers("tool_id", "tool_data"),
	"POST /register/context_builder": registers("context_builder_id", "cb_data"),
	"POST /register/guardrail":       registers("guardrail_id", "guardrail_data"),
	"POST /register/template":        registers("template_id", "template_data"),
	"POST /register/reindex":         {{request: "POST /register/reindex", body: "{}", status: 403}},
	"DELETE /register/{kind}/{id}": {{request: "DELETE /register/skill/$.s.r", onNATS: `{"kind":"skill","id":"$.s.r"}`, status: 204},
		{request: "DELETE /register/skill/$.s.r?tenant_id=$", onNATS: `{"kind":"skill","id":"$.s.r","tenant_id":"$"}`, status: 403}},

	"POST /resolve/skill": {{request: "POST /resolve/skill", body: `{"skill_id":"$.s.r","explain":true}`, status: 404, shown: true},
		{request: "POST /resolve/skill", body: `{"query":"#","explain":true}`, status: 404, shown: true},
		{request: "POST /resolve/skill", body: `{"query":"#","tenant_id":"$"}`, status: 403, shown: true}},
	"POST /resolve/agent":            {{request: "POST /resolve/agent", body: `{"query":"#","explain":true}`, status: 404, shown: true}},
	"POST /resolve/context":          {{request: "POST /resolve/context", body: `{"skill_id":"$.s.r"}`, status: 404, shown: true}},
	"POST /resolve/context_builders": {{request: "POST /resolve/context_builders", body: `{"skill_id":"$.s.r"}`, status: 404, shown: true}},
	"POST /resolve/tools":            {{request: "POST /resolve/tools", body: `{"tool_ids":["$.s.r"]}`, status: 404, shown: true}},
	"POST /resolve/tool_class":       {{request: "POST /resolve/tool_class", body: `{"tool_class":"$"}`, status: 404, shown: true}},
	"POST /resolve/template":         {{request: "POST /resolve/template", body: `{"skill_id":"$.s.r"}`, status: 404, shown: true}},
	"POST /resolve/guardrail":        {{request: "POST /resolve/guardrail", body: `{"skill_id":"$.s.r"}`, status: 404, shown: true}},
	"GET /skills":                    lists("/skills"),
	"GET /tools":                     lists("/tools"),

	"POST /search/playbooks":         {{request: "POST /search/playbooks", body: "{}", status: 501}},
	"POST /answer/knowledge":         {{request: "POST /answer/knowledge", body: "{}", status: 501}},
	"POST /resolve/domain_knowledge": {{request: "POST /resolve/domain_knowledge", body: "{}", status: 501}},

	"POST /api/v1/analyze": {{request: "POST /api/v1/analyze", body: question(text(script{Say: "x", Tell: true}), `[{"a":1}]`),
		status: 200}},
	"GET /api/v1/analyze/{run}":    {{request: "GET /api/v1/analyze/~", status: 404, shown: true}},
	"DELETE /api/v1/analyze/{run}": {{request: "DELETE /api/v1/analyze/~", status: 204}},
}

// registers returns the probes of a registration: the same id in the caller's own
// tenant, in the owner's, and in the global scope.
func registers(id, wrapper string) []probe {
	kind := strings.TrimSuffix(id, "_id")
	record := func(tenant string) string { return `{"` + wrapper + `":{"` + id + `":"$.s.r","of":"2"` + tenant + `}}` }
	return []probe{
		{request: "POST /register/" + kind, body: record(""), status: 200},
		{request: "POST /register/" + kind, body: record(`,"tenant_id":"$"`), status: 403},
		{request: "POST /register/" + kind, body: record(`,"tenant_id":null`), status: 403},
		{request: "DELETE /register/" + kind + "/$.s.r", onNATS: `{"kind":"` + kind + `","id":"$.s.r"}`, status: 204},
	}
}

// lists returns the probes of a listing; ~ is a cursor of the owner.
func lists(path string) []probe {
	return []probe{
		{request: "GET " + path + "?domain=$", onNATS: `{"domain":"$"}`, status: 200, shown: true},
		{request: "GET " + path + "?cursor=~", onNATS: `{"cursor":"~"}`, status: 200, shown: true},
		{request: "GET " + path + "?tenant_id=$", onNATS: `{"tenant_id":"$"}`, status: 403, shown: true},
	}
}

// TestTenantIsolation sends one tenant's requests for another's data to every
// route over HTTP and NATS: no answer shows or changes it, or reveals whether it
// exists.
func TestTenantIsolation(t *testing.T) {
	everywhere(t, authenticated, func(t *testing.T, c *client) {
		owner := newOwner(t, c)
		other := owner.withRole(t, schemas.RoleRegistrar, "$2")
		analyst := owner.withRole(t, schemas.RoleAnalyst, "$2")
		for _, r := range routesOf(t, c) {
			if probes[r.String()] == nil {
				t.Errorf("%s has no isolation probe", r)
			}
			caller := other
			if strings.HasPrefix(r.path, "/api/") {
				caller = analyst
			}
			for _, p := range probes[r.String()] {
				owner.overHTTP(t, caller, p)
				owner.overNATS(t, r, p)
				owner.unchanged(t, p)
				owner.indistinguishable(t, caller, p)
			}
		}
	})
}

// owner is a tenant whose data contain a secret.
type owner struct {
	*client
	secret  string
	mine    *client
	run     *stream
	cursors map[string]string // by listing path
}

func newOwner(t *testing.T, c *client) *owner {
	t.Helper()
	o := &owner{client: c, secret: word(), cursors: map[string]string{}}
	mine := c.withRole(t, schemas.RoleAdmin, "$")
	o.mine = mine
	secret := func(text string) string { return strings.ReplaceAll(text, "#", o.secret) }
	for _, record := range [][2]string{
		{"skill", `{"skill_id":"$.s.r","purpose":"#","context_builder_ids":["$.s.r"],"tool_ids":["$.s.r"],"guardrail_ids":["$.s.r"],"template_id":"$.s.r"}`},
		{"skill", `{"skill_id":"$.s.r2","purpose":"# #"}`},
		{"agent", `{"agent_id":"$.s.r","capabilities":["#"]}`},
		{"tool", `{"tool_id":"$.s.r","tool_class":"$","domain":"$","description":"#"}`},
		{"tool", `{"tool_id":"$.s.r2","tool_class":"$","domain":"$","description":"#"}`},
		{"context_builder", `{"context_builder_id":"$.s.r","instructions":"#"}`},
		{"guardrail", `{"guardrail_id":"$.s.r","description":"#"}`},
		{"template", `{"template_id":"$.s.r","description":"#"}`},
	} {
		mine.put(t, [2]string{record[0], secret(record[1])})
	}
	mine.do(t, "POST /tags/write", secret(`{"request_id":"$","flow":"#","tags":{"a":"#"}}`))
	for _, path := range []string{"/skills", "/tools"} {
		var page struct {
			Next string `json:"next_cursor"`
		}
		if err := json.Unmarshal([]byte(mine.do(t, "GET "+path+"?limit=1", "").body), &page); err != nil || page.Next == "" {
			t.Fatalf("no cursor of %s: %v", path, err)
		}
		o.cursors[path] = page.Next
	}
	o.run = mine.follow(t, question(text(script{Say: o.secret + " ", Await: o.secret}), `[{"a":"`+o.secret+`"}]`,
		`"on_disconnect":"continue"`))
	o.run.until(t, o.secret+" ")
	t.Cleanup(func() {
		if _, err := mine.try(context.Background(), "DELETE "+o.run.run(), ""); err != nil {
			t.Errorf("cancel the run: %v", err)
		}
	})
	return o
}

// fill replaces the placeholders of a probe with the owner's values.
func (o *owner) fill(text string) string {
	for path, cursor := range o.cursors {
		if strings.Contains(text, path) {
			text = strings.ReplaceAll(text, "~", cursor)
		}
	}
	text = strings.ReplaceAll(text, "~", o.run.res.Header.Get("Cairn-Run"))
	return o.named(strings.ReplaceAll(text, "#", o.secret))
}

func (o *owner) overHTTP(t *testing.T, caller *client, p probe) {
	t.Helper()
	a := caller.call(t, o.fill(p.request), o.fill(p.body))
	if a.status != p.status {
		t.Errorf("%s %s: %d %s, want %d", p.request, p.body, a.status, brief(a.body), p.status)
	}
	o.hidden(t, p.request, a)
}

// hidden fails the test if the answer contains the secret.
func (o *owner) hidden(t *testing.T, asked string, a answer) {
	t.Helper()
	var head strings.Builder
	_ = a.header.Write(&head)
	if strings.Contains(a.body+head.String(), o.secret) && !strings.Contains(a.path, o.secret) {
		t.Errorf("%s shows another tenant %s", asked, brief(a.body))
	}
}

var statusCode = regexp.MustCompile(`"status":(\d+)`)

// overNATS sends the probe as an edge does for the other tenant, so that the
// worker authorizes it.
func (o *owner) overNATS(t *testing.T, r route, p probe) {
	t.Helper()
	if r.Subject == "" || strings.Contains(r.Subject, "analyze") {
		return
	}
	msg := nats.NewMsg(r.Subject)
	if strings.HasPrefix(p.request, http.MethodDelete+" /register") {
		msg.Subject = "cairn.register.delete"
	}
	msg.Data = []byte(o.fill(p.body + strings.ReplaceAll(p.onNATS, "~", o.cursors[r.path])))
	msg.Header.Set("Cairn-Identity", o.named(`{"id":"x","role":"registrar","tenants":["$3"]}`))
	reply, err := o.dial(t).RequestMsg(msg, 10*time.Second)
	if err != nil {
		t.Fatalf("%s: %v", msg.Subject, err)
	}
	status := 200
	if code := reply.Header.Get("Nats-Service-Error-Code"); code != "" {
		if match := statusCode.FindSubmatch(reply.Data); match == nil || string(match[1]) != code {
			t.Errorf("%s: %s in the header, and %s", msg.Subject, code, reply.Data)
		}
		status = map[string]int{"404": 404, "403": 403}[code]
	}
	if want := p.status; status != want && (want >= 300 || status != 200) {
		t.Errorf("%s %s: %d %s, want %d", msg.Subject, msg.Data, status, brief(string(reply.Data)), want)
	}
	if strings.Contains(string(reply.Data), o.secret) {
		t.Errorf("%s %s shows another tenant %s", msg.Subject, msg.Data, brief(string(reply.Data)))
	}
}

// unchanged checks that the owner still reads its data.
func (o *owner) unchanged(t *testing.T, p probe) {
	t.Helper()
	if !p.shown {
		p = probe{request: "POST /resolve/skill", body: `{"skill_id":"$.s.r"}`}
	}
	if strings.HasPrefix(p.request, "GET /api/") {
		s := o.mine.stream(t, o.fill(p.request), "")
		s.until(t, o.secret+" ")
		s.stop()
		return
	}
	a := o.mine.call(t, o.fill(p.request), o.fill(p.body))
	if a.status != 200 || !strings.Contains(a.body, o.secret) {
		t.Errorf("%s %s: the owner gets %d %s", p.request, p.body, a.status, brief(a.body))
	}
}

// indistinguishable compares the answer for the owner's data with the answer for
// data that do not exist.
func (o *owner) indistinguishable(t *testing.T, caller *client, p probe) {
	t.Helper()
	if p.status != 404 && p.status != 403 {
		return
	}
	id, secret := word(), word()
	nobody := strings.NewReplacer("$2", o.word+"2", "tenant_id=$", "tenant_id="+id, `"tenant_id":"$`, `"tenant_id":"`+id, "$", id, "#",
		secret, "~", id+"-"+o.word)
	there := caller.call(t, o.fill(p.request), o.fill(p.body))
	absent := caller.call(t, nobody.Replace(p.request), nobody.Replace(p.body))
	plain := func(a answer, words ...string) string {
		for i := 0; i < len(words); i += 2 {
			a.body = strings.ReplaceAll(a.body, words[i], words[i+1])
		}
		return a.header.Get("Content-Type") + requestID.ReplaceAllString(a.body, "")
	}
	run := o.run.res.Header.Get("Cairn-Run")
	one := plain(there, run, "~", o.word, "$", o.secret, "#")
	two := plain(absent, id+"-"+o.word, "~", id, "$", o.word, "$", secret, "#")
	if there.status != absent.status || one != two {
		t.Errorf("%s %s: existing and absent data are distinguishable:\n%d %s\n%d %s", p.request, p.body, there.status, one, absent.status, two)
	}
}

var requestID = regexp.MustCompile(`"request_id":"[^"]*"`)

// TestExistenceTiming compares the latency of requests for another tenant's
// records and for absent ones, alternately; they must not be distinguishable.
func TestExistenceTiming(t *testing.T) {
	t.Parallel()
	c := newClient(t, open(t, topologies[0], authenticated))
	owner := newOwner(t, c)
	other := c.withRole(t, schemas.RoleRegistrar, "$2")
	for _, ask := range []func(word string) (string, string){
		func(word string) (string, string) { return "GET /tags/" + word, "" },
		func(word string) (string, string) { return "POST /resolve/skill", `{"skill_id":"` + word + `.s.r"}` },
	} {
		same := func() bool {
			var took [2][]time.Duration
			for i := range 600 {
				word := []string{owner.word, strings.Repeat("x", len(owner.word))}[i%2]
				request, body := ask(word)
				began := time.Now()
				other.call(t, request, body)
				took[i%2] = append(took[i%2], time.Since(began))
			}
			slices.Sort(took[0])
			slices.Sort(took[1])
			there, absent := took[0][150], took[1][150]
			return (there - absent).Abs() < max(there, absent)/10
		}
		told := true
		for range 3 { // retry: other load on the machine adds noise
			told = told && !same()
		}
		if told {
			request, _ := ask("…")
			t.Errorf("%s: the latency reveals whether the record exists", request)
		}
	}
}
