package edge

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"cairn/bus"
	"cairn/schemas"
)

// unregister returns an action that deletes the record in the URL. It names the deleted aliases of the record, and the
// records that linked to it if e reports them, in headers.
func unregister[Req any](e bus.Endpoint[Req, schemas.Unregistered]) action {
	return inURL(endpointAction(e).Spec, func(x *exchange, request []byte) error {
		reply, err := x.send(e.Forward, request)
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
	})
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
