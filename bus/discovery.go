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

// discovery answers the requests of NATS service discovery, $SRV.PING, $SRV.INFO and
// $SRV.STATS, for a service (NATS ADR-32). A service of package micro runs the requests of
// an endpoint one after the other, and counts a request as done when its callback returns;
// here requests run concurrently, and are counted when they have been answered.
type discovery struct {
	identity    micro.ServiceIdentity
	description string
	started     time.Time

	mu        sync.Mutex
	endpoints []discovered
}

type discovered struct {
	micro.EndpointInfo
	metrics *telemetry.Subject
}

func newDiscovery(service string) *discovery {
	return &discovery{
		identity:    micro.ServiceIdentity{Name: "cairn-" + service, ID: nuid.Next(), Version: Version, Metadata: map[string]string{}},
		description: "Cairn: " + service, started: time.Now().UTC(),
	}
}

// subscribe answers requests until the subscriptions end.
func (d *discovery) subscribe(nc *nats.Conn) (subs []*nats.Subscription, err error) {
	for verb, describe := range map[micro.Verb]func() any{micro.PingVerb: d.ping, micro.InfoVerb: d.info, micro.StatsVerb: d.stats} {
		for _, of := range [][2]string{{"", ""}, {d.identity.Name, ""}, {d.identity.Name, d.identity.ID}} {
			subject, _ := micro.ControlSubject(verb, of[0], of[1]) // fails for an unknown verb
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
	d.endpoints = append(d.endpoints, discovered{
		micro.EndpointInfo{Name: name, Subject: e.Subject, QueueGroup: micro.DefaultQueueGroup, Metadata: metadata}, e.metrics,
	})
	return nil
}

func (d *discovery) ping() any {
	return micro.Ping{ServiceIdentity: d.identity, Type: micro.PingResponseType}
}

func (d *discovery) info() any {
	info := micro.Info{
		ServiceIdentity: d.identity, Type: micro.InfoResponseType, Description: d.description, Endpoints: []micro.EndpointInfo{},
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.endpoints {
		info.Endpoints = append(info.Endpoints, e.EndpointInfo)
	}
	return info
}

func (d *discovery) stats() any {
	stats := micro.Stats{ServiceIdentity: d.identity, Type: micro.StatsResponseType, Started: d.started, Endpoints: []*micro.EndpointStats{}}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.endpoints {
		t := e.metrics.Totals()
		stats.Endpoints = append(stats.Endpoints, &micro.EndpointStats{
			Name: e.Name, Subject: e.Subject, QueueGroup: e.QueueGroup, NumRequests: t.Requests, NumErrors: t.Errors, LastError: t.LastError,
			ProcessingTime: t.ProcessingTime, AverageProcessingTime: t.ProcessingTime / time.Duration(max(1, t.Requests)),
		})
	}
	return stats
}
