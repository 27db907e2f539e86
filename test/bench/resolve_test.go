package bench

import (
	"fmt"
	"net/http"
	"testing"
)

// knowledge contains a skill with its linked records, as request bodies by path.
var knowledge = [][2]string{
	{"/register/tool", `{"tool_data":{"tool_id":"netbox.vlans.list","tool_class":"inventory","provider":"netbox","description":"Lists the VLANs of a site"}}`},
	{"/register/tool", `{"tool_data":{"tool_id":"netbox.vlans.get","tool_class":"inventory","provider":"netbox","description":"One VLAN by number"}}`},
	{"/register/context_builder",
		`{"cb_data":{"context_builder_id":"network.inventory","domain":"network","description":"Sites and VLANs","context_type":"inventory","tool_ids":["netbox.vlans.list","netbox.vlans.get"],"instructions":"List the site's VLANs first."}}`},
	{"/register/guardrail", `{"guardrail_data":{"guardrail_id":"read_only","rule":"Never change a device."}}`},
	{"/register/template", `{"template_data":{"template_id":"network.table","layout":"table"}}`},
	{"/register/skill", `{"record":{"skill_id":"network.find_vlans","domain":"network","display_name":"Find VLANs","purpose":"Locate VLANs by site or number","description":"Answers where a VLAN is and what it is for","capabilities":["list VLANs","locate a VLAN"],"context_descriptions":["site: where to look"],"output_type":"table","status":"active","template_id":"network.table"}}`},
}

// BenchmarkResolveByID compares resolving a skill by id with a minimal HTTP handler over
// NATS. The baseline echoes the request: the package in Cairn's response is extra work.
func BenchmarkResolveByID(b *testing.B) {
	server := up(b)
	teacher := dial(b, server.address)
	for _, k := range knowledge {
		must(b, teacher.post(k[0], k[1], http.StatusOK))
	}
	bare := baseline(b, "echo")
	body := func(int) string { return `{"skill_id":"network.find_vlans","tenant_id":"acme"}` }
	for _, connections := range []int{1, 32} {
		b.Run(fmt.Sprintf("connections=%d", connections), func(b *testing.B) {
			cairn := newSide(b, server, connections, side{path: "/resolve/skill", status: 200, body: body})
			echo := newSide(b, bare, connections, side{path: "/", status: 200, body: body})
			c, r := compare(b, 3000+160*connections, cairn, echo)
			report(b, "p50-µs", each(c, p50), each(r, p50))
			report(b, "cpu-µs", each(c, work), each(r, work))
			report(b, "req/s", each(c, result.rate), each(r, result.rate))
		})
	}
}
