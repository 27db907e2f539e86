package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"cairn/bus"
	"cairn/deploy/internal/output"
	"cairn/edge/client"
	"cairn/schemas"
)

// maxSkew is the difference of the clocks above which doctor warns. A Date header has a
// resolution of a second.
const maxSkew = 5 * time.Second

// version compares the versions of the server and of this program.
func version(h schemas.Health) finding {
	if h.Version != bus.Version {
		return warn("version", fmt.Sprintf("server %s, this program %s", h.Version, bus.Version),
			"install the version of the server")
	}
	return ok("version", h.Version)
}

// clock compares the clock of the server with the local clock.
func clock(h http.Header) finding {
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return skip("clock", "the server sends no date")
	}
	skew := time.Since(date).Round(time.Second)
	if skew.Abs() > maxSkew {
		return warn("clock", fmt.Sprintf("the clocks differ by %v", skew),
			"synchronize the clocks with NTP: keys and tokens expire by the clock of the edge")
	}
	return ok("clock", fmt.Sprintf("differs by at most %v", maxSkew))
}

// health checks the roles, their back ends and the shared index.
func health(h schemas.Health) []finding {
	list := []finding{status("cairn", h)}
	if len(h.Services) == 0 && h.Status != schemas.StatusDown {
		return append(list, skip("roles", "the health of the roles requires a credential for all tenants"))
	}
	for _, s := range h.Services {
		list = append(list, status("role "+s.Service, s))
		list = append(list, backends(s)...)
		if s.Dangling != nil {
			list = append(list, warn("references", fmt.Sprintf("%d link to records that do not exist", s.Dangling.Count),
				"register the records or remove the links that cairn status lists"))
		}
	}
	return list
}

// status returns the finding for a health status.
func status(check string, h schemas.Health) finding {
	detail := strings.Join(h.Degraded, "; ")
	switch h.Status {
	case schemas.StatusOK:
		return ok(check, strings.Join(output.Pairs(h.Backends), ", "))
	case schemas.StatusDown:
		if detail == "" {
			detail = "down"
		}
		return fail(check, schemas.ErrUnavailable.Because(detail), fixFor(detail))
	default:
		return warn(check, detail, fixFor(detail))
	}
}

// lostMessages is a part of the reason for a loss (bucket.Problems).
const lostMessages = "has lost messages"

// fixes lists what to do about the reasons of a degraded status, by a part of the text.
var fixes = []struct{ part, fix string }{
	{lostMessages, "check the disk of the NATS server; then cairn doctor --nats URL --accept-loss restores the records that the history has"},
	{"no responders", "start a worker of this role: cairn worker ROLE"},
	{"no worker", "start a worker of this role: cairn worker ROLE"},
	{"NATS", "check the NATS servers with cairn doctor --nats, or cairn cluster status"},
	{"% full", "raise --storage-limit, or delete records or tags: see /docs/configuration#storage"},
	{"replica", "start the missing node, or remove it: cairn cluster remove"},
	{"embed", "check the URL of --embed and that its server runs"}, // its model is an embedding model
	{"model", "check the URL of --model and that the model server runs"},
	{"elasticsearch", "check the URL of --index and the health of Elasticsearch"},
	{"quarantine", "correct and register the records that cairn status lists, or delete them"},
	{"catalog", "restart the workers that read the other catalog"},
}

func fixFor(detail string) string {
	for _, f := range fixes {
		if strings.Contains(strings.ToLower(detail), strings.ToLower(f.part)) {
			return f.fix
		}
	}
	return "see the log of the worker"
}

// backends checks the backends of a role.
func backends(s schemas.Health) (list []finding) {
	if model := s.Backends["model"]; strings.HasPrefix(model, "offline:") {
		list = append(list, warn("model", "analyses use the built-in offline model",
			"set --model of the analyze workers to a language model"))
	}
	if i := s.Index; i != nil {
		switch {
		case i.Quarantined > 0:
			list = append(list, warn("index", fmt.Sprintf("%d records are quarantined", i.Quarantined), fixFor("quarantine")))
		case i.Live != i.Fingerprint:
			list = append(list, warn("index", "a new generation is being filled",
				"wait until it has caught up; see cairn status"))
		case i.Lag != nil && *i.Lag > 0:
			list = append(list, warn("index", fmt.Sprintf("%d changes behind the catalog", *i.Lag),
				"wait, or start further register workers"))
		default:
			list = append(list, ok("index", "up to date"))
		}
	}
	return list
}

// credentials checks that the key may read, and what else it permits.
func credentials(ctx context.Context, c *client.Client, tenant string) []finding {
	scope := schemas.Optional(tenant)
	for _, err := range c.List(ctx, schemas.RecordQuery{Kind: schemas.KindSkill, TenantID: scope, Limit: new(1)}) {
		if err != nil {
			return []finding{rejectedKey(err)}
		}
		break
	}
	caller, err := c.Identity(ctx)
	if err != nil {
		return []finding{fail("credential", err, "retry: the request failed, but not because of the credential")}
	}
	var permitted []string
	for _, p := range caller.Permissions {
		if p != schemas.PermissionOperate { // part of the role of an admin
			permitted = append(permitted, string(p))
		}
	}
	role := "admin, or no authentication"
	if caller.Role != "" && caller.Role != schemas.RoleAdmin {
		role = string(caller.Role)
	}
	list := []finding{ok("credential", "permits "+strings.Join(permitted, ", ")+" (role "+role+")")}
	return append(list, anonymous(ctx, c)...)
}

func rejectedKey(err error) finding {
	fix := "see cairn status"
	switch {
	case errors.Is(err, schemas.ErrUnauthenticated):
		fix = "set --key to a valid key; an admin creates one with cairn key create"
	case errors.Is(err, schemas.ErrForbidden):
		fix = "set --tenant or use a key for the global scope; see cairn key list"
	}
	return fail("credential", err, fix)
}

// anonymous warns about a server that accepts requests without a credential from other
// machines.
func anonymous(ctx context.Context, c *client.Client) []finding {
	u, err := url.Parse(c.URL())
	if err != nil {
		return nil
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	stranger, err := client.New(client.Config{URL: c.URL(), RetryTimeout: -1})
	if err != nil {
		return nil
	}
	for _, err := range stranger.List(ctx, schemas.RecordQuery{Kind: schemas.KindSkill, Limit: new(1)}) {
		return []finding{authentication(err)}
	}
	return []finding{authentication(nil)}
}

// authentication returns the finding for the result of a request without a credential.
func authentication(err error) finding {
	switch {
	case err == nil:
		return warn("authentication", "requests without a credential are accepted",
			"start the edges with --auth keys or --auth oidc")
	case errors.Is(err, schemas.ErrUnauthenticated), errors.Is(err, schemas.ErrForbidden):
		return ok("authentication", "required")
	default:
		return skip("authentication", output.OneLine(err))
	}
}
