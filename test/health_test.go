package test

import (
	"strings"
	"testing"

	"cairn/test/wait"
)

func TestHealth(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		wait.Until(t, "the workers are ready", func() bool { // they start one after the other
			return !strings.Contains(c.call(t, "GET /health", "").body, "degraded")
		})
		c.rows(t, []row{{"all services report ok", "GET /health", "", 200, "",
			`{"service":"cairn","status":"ok","services":[{"service":"tags","status":"ok"},{"service":"register","status":"ok"},
			{"service":"resolve","status":"ok","backends":{"index":"embedded:","embed":"static:"}},
			{"service":"analyze","status":"ok","backends":{"model":"offline:"}}]}`}})
	})
}

// TestWithoutWorkers queries an edge without workers: it serves the routes that need
// none, and reports the others as unavailable.
func TestWithoutWorkers(t *testing.T) {
	everywhere(t, workerless, func(t *testing.T, c *client) {
		c.rows(t, []row{
			{"health lists the missing services", "GET /health", "", 200, "",
				`{"status":"degraded","degraded":["tags: no worker answers cairn.health.tags",
				"register: no worker answers cairn.health.register",
				"resolve: no worker answers cairn.health.resolve","analyze: no worker answers cairn.health.analyze"]}`},
			{"tags are unavailable", "POST /tags/write", `{"request_id":"$"}`, 503, "CE-011", ""},
			{"registration too", "POST /register/skill", `{"record":{"skill_id":"$.a"}}`, 503, "CE-011", ""},
			{"resolution is unavailable", "POST /resolve/skill", `{"skill_id":"$.a"}`, 503, "CE-011", ""},
			{"listings are unavailable", "GET /skills", "", 503, "CE-011", ""},
			{"analyses are unavailable, with AN codes", "POST /api/v1/analyze", question("q", "{}"), 503, "AN-503", ""},
			{"routes without a worker are served", "POST /search/playbooks", "{}", 501, "CE-005", ""},
			{"an unknown path is not found", "GET /x", "", 404, "CE-004", ""},
		})
		if a := c.call(t, "GET /skills", ""); a.header.Get("Retry-After") == "" {
			t.Error("503 without Retry-After")
		}
	})
}

func TestModelUnavailable(t *testing.T) {
	isolated(t, setup{model: "ollama://127.0.0.1:1/none"}, func(t *testing.T, c *client) {
		c.awaitHealth(t, 200, `"service":"analyze","status":"degraded"`)
		c.rows(t, []row{
			{"an unavailable model is not replaced", "POST /api/v1/analyze", question("how many hosts?", estate), 500, "AN-500",
				""},
			{"health reports it", "GET /health", "", 200, "",
				`{"status":"degraded","services":[{"status":"ok"},{"status":"ok"},{"status":"ok"},{"service":"analyze","status":"degraded"}]}`},
			{"other services work", "POST /register/skill", `{"record":{"skill_id":"$.a"}}`, 200, `{"skill_id":"$.a"}`, ""},
		})
	})
}

// TestInvalidWorkerResponse maps an unreadable response to an internal error.
func TestInvalidWorkerResponse(t *testing.T) {
	everywhere(t, workerless, func(t *testing.T, c *client) {
		nc := c.dial(t)
		answerWith(t, nc, "cairn.resolve.tool_class", "secret", "Nats-Service-Error-Code: 500", "Nats-Service-Error: secret")
		c.rows(t, []row{{"an error without a body", "POST /resolve/tool_class", `{"tool_class":"x"}`, 500, "CE-010", ""}})
	})
}

// TestEmbedderUnavailable registers while the embedder is unavailable: the record
// is readable by id at once, and search reports degraded.
func TestEmbedderUnavailable(t *testing.T) {
	isolated(t, setup{embed: "ollama://127.0.0.1:1/none"}, func(t *testing.T, c *client) {
		c.rows(t, []row{
			{"the record is stored, and indexed later", "POST /register/skill",
				`{"record":{"skill_id":"$.a","purpose":"count hosts"}}`, 200,
				`{"skill_id":"$.a","indexed":false}`, ""},
			{"it is found by id at once", "POST /resolve/skill", `{"skill_id":"$.a"}`, 200, "", `{"skill_id":"$.a"}`},
			{"it is listed at once", "GET /skills?domain=$", "", 200, "", `{"skills":[{"skill_id":"$.a"}]}`},
		})
		c.awaitHealth(t, 200, `"service":"register","status":"degraded"`)
		c.rows(t, []row{
			{"health reports the lag of search", "GET /health", "", 200, "",
				`{"status":"degraded","services":[{"status":"ok"},{"status":"degraded"},{"service":"resolve","status":"degraded"},{"status":"ok"}]}`},
		})
	})
}
