package edge

import (
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"cairn/bus"
	"cairn/schemas"
)

// unregister returns an action that deletes the record in the URL. It names the deleted aliases of the record, and the
// records that linked to it if e reports them, in headers.
func unregister[Req any](e bus.Endpoint[Req, schemas.Unregistered]) action {
	parameters := parametersOf(reflect.TypeFor[Req]())
	a := endpointAction(e)
	a.InURL = true
	a.answer = func(x *exchange) error {
		body, wrong := parameters.read(x.vars, x.r.URL.RawQuery)
		if len(wrong) > 0 {
			return e.Invalid.With(wrong...)
		}
		reply, err := x.send(e.Forward, body)
		if err != nil {
			return err
		}
		var deleted schemas.Unregistered
		_ = json.Unmarshal(reply.Body, &deleted) // of a worker
		if len(deleted.Aliases) > 0 {
			x.w.Header()[bus.HeaderAliases] = []string{strings.Join(deleted.Aliases, ",")}
		}
		if r := deleted.Referrers; r != nil {
			x.w.Header()[bus.HeaderReferrerCount] = []string{strconv.Itoa(r.Count)}
			x.w.Header()[bus.HeaderReferrers] = []string{references(r.First)}
		}
		x.reply(reply)
		return nil
	}
	return a
}

// maxReferences bounds a header in bytes: proxies reject responses with headers of 8 KiB.
const maxReferences = 4 << 10

// references returns the paths of the records below /records/, separated by commas, as far as they fit a header.
func references(list []schemas.Referrer) string {
	text := ""
	for _, r := range list {
		path := r.Kind + "/" + url.PathEscape(r.ID)
		if r.TenantID != "" {
			path += "?tenant_id=" + url.QueryEscape(r.TenantID)
		}
		if len(text)+len(path) > maxReferences {
			break
		}
		text += ", " + path
	}
	return strings.TrimPrefix(text, ", ")
}
