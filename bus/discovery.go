package bus

import (
	"encoding/json" // as package micro, which encodes durations as numbers
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/nats-io/nuid"

	"cairn/bus/telemetry"
	"cairn/schemas"
)

// Version is the version of this build, set by the linker.
var Version = "0.0.0"

// discovery answers the requests of NATS service discovery, $SRV.PING, $SRV.INFO and
// $SRV.STATS, for a service (NATS ADR-32). A service of package micro runs the requests of
// an endpoint one after the other, and counts a request as done when its callback returns;
// here requests run concurrently, and are counted when they have been answered.
type discovery struct {
	started time.Time

	mu      sync.Mutex
	info    micro.Info
	metrics []*telemetry.Subject // of the endpoints of info
}

func newDiscovery(service string) *discovery {
	return &discovery{started: time.Now().UTC(), info: micro.Info{
		ServiceIdentity: micro.ServiceIdentity{Name: "cairn-" + service, ID: nuid.Next(), Version: Version,
			Metadata: map[string]string{}},
		Type: micro.InfoResponseType, Description: "Cairn: " + service, Endpoints: []micro.EndpointInfo{},
	}}
}

// subscribe answers requests until the subscriptions end.
func (d *discovery) subscribe(nc *nats.Conn) (subs []*nats.Subscription, err error) {
	name, id := d.info.Name, d.info.ID
	for verb, describe := range map[micro.Verb]func() any{micro.PingVerb: d.ping, micro.InfoVerb: d.describe,
		micro.StatsVerb: d.stats} {
		for _, selector := range [][2]string{{"", ""}, {name, ""}, {name, id}} {
			subject, _ := micro.ControlSubject(verb, selector[0], selector[1]) // fails for an unknown verb
			sub, err := nc.Subscribe(subject, func(msg *nats.Msg) {
				if body, err := json.Marshal(describe()); err == nil && isInbox(msg.Reply) {
					_ = msg.Respond(body) // the client retries
				}
			})
			if err != nil {
				return nil, fmt.Errorf("subscribe to %s: %w", subject, err)
			}
			subs = append(subs, sub)
		}
	}
	return subs, nil
}

func (d *discovery) add(e *responder) error {
	metadata := map[string]string{"description": e.Summary}
	for key, t := range map[string]reflect.Type{"request_schema": e.Request, "response_schema": e.Reply} {
		if t == nil {
			continue
		}
		schema, err := schemas.Document(t)
		if err != nil {
			return fmt.Errorf("describe %s: %w", e.Subject, err)
		}
		metadata[key] = string(schema)
	}
	name := strings.ReplaceAll(strings.TrimPrefix(e.Subject, "cairn."), ".", "-")
	d.mu.Lock()
	defer d.mu.Unlock()
	d.info.Endpoints = append(d.info.Endpoints,
		micro.EndpointInfo{Name: name, Subject: e.Subject, QueueGroup: micro.DefaultQueueGroup, Metadata: metadata})
	d.metrics = append(d.metrics, e.metrics)
	return nil
}

func (d *discovery) ping() any {
	return micro.Ping{ServiceIdentity: d.info.ServiceIdentity, Type: micro.PingResponseType}
}

func (d *discovery) describe() any {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.info // add appends to the endpoints and does not change them
}

func (d *discovery) stats() any {
	d.mu.Lock()
	defer d.mu.Unlock()
	stats := micro.Stats{
		ServiceIdentity: d.info.ServiceIdentity, Type: micro.StatsResponseType, Started: d.started,
		Endpoints: []*micro.EndpointStats{},
	}
	for i, e := range d.info.Endpoints {
		t := d.metrics[i].Totals()
		stats.Endpoints = append(stats.Endpoints, &micro.EndpointStats{
			Name: e.Name, Subject: e.Subject, QueueGroup: e.QueueGroup, NumRequests: t.Requests, NumErrors: t.Errors,
			LastError:      t.LastError,
			ProcessingTime: t.ProcessingTime, AverageProcessingTime: t.ProcessingTime / time.Duration(max(1, t.Requests)),
		})
	}
	return stats
}
