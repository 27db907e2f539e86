package bus_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
)

// FuzzRequest sends arbitrary headers and bodies, whole and in two chunks: each request
// gets a reply, a refusal is a client error, and an admitted request has exactly the
// identity of its header.
func FuzzRequest(f *testing.F) {
	for _, seed := range [][4]string{
		{`{"id":"k","role":"analyst","tenants":["acme"]}`, "r-1", "1m",
			`{"request_id":"r","query":"q","context":"{}","target":"H"}`},
		{`{"id":"k","role":"admin"}`, "~ ~", "-1h",
			`{"request_id":"r","tenant_id":"globex","record":{"skill_id":"a.b","tenant_id":null}}`},
		{`{"id":"k","role":"registrar","tenants":["acme","globex"]}`, "", "9223372036854775807ns",
			`{"record":{"skill_id":"a.b"}}`},
		{`{"id":"k","role":"registrar","tenants":["acme"]}`, "", "", `{"record": {"skill_id":"a.b", "tenant_\u0069d":null}}`},
		{`{"role":"king","tenants":[null]}`, "", "1e9s", `{"request_id":"r","request_id":"s"}`}, {"", "", "", "\xff"},
		{"null", "", "", `[`},
		{`{"id":"k","role":"admin","tenants":[]}`, "", "", `{}`},
	} {
		f.Add(seed[0], seed[1], seed[2], "18446744073709551616", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
			[]byte(seed[3]))
	}
	conn, nc := startServer(f)
	svc := bustest.Fragile(f, conn, "tags")
	seen := make(chan metadata, 1)
	hear := func(ctx context.Context, tenant *string, raw []byte) {
		seen <- metadata{bus.Identity(ctx), bus.RequestID(ctx), tenant, raw}
	}
	err := bus.ReadTag.Serve(svc, func(ctx context.Context, k schemas.TagKey) (schemas.TagFound, error) {
		hear(ctx, k.TenantID, nil)
		return schemas.TagFound{}, nil
	})
	if err == nil {
		err = bus.RegisterSkill.Serve(svc,
			func(ctx context.Context, r schemas.RegisterSkill) (schemas.SkillRegistered, error) {
				hear(ctx, r.Record.Fields.TenantID, r.Record.Raw)
				return schemas.SkillRegistered{}, nil
			})
	}
	if err == nil {
		err = bus.Analyze.Serve(svc, func(ctx context.Context, _ schemas.Analysis, _ bus.Sender) error {
			hear(ctx, nil, nil)
			return nil
		})
	}
	bustest.Must(f, err)
	c := fuzzClient{nc, seen}
	f.Fuzz(func(t *testing.T, identity, id, timeout, number, trace string, body []byte) {
		header := nats.Header{bus.HeaderIdentity: {identity}, bus.HeaderRequestID: {id}, bus.HeaderTimeout: {timeout},
			bus.HeaderMinRevision: {number}, bus.HeaderWindow: {number}, "traceparent": {trace}, "tracestate": {trace}}
		if d, err := time.ParseDuration(timeout); err == nil && 0 < d && d < 10*time.Second {
			return // the timeout expires before the reply
		}
		for _, values := range header {
			if len(values[0]) > 1<<10 || !text.MatchString(values[0]) {
				return // not a valid NATS header
			}
		}
		for _, subject := range []string{bus.ReadTag.Subject, bus.RegisterSkill.Subject, bus.Analyze.Subject} {
			header.Del(bus.HeaderBodySize)
			c.send(t, &nats.Msg{Subject: subject, Header: header, Data: body}, nil)
		}
		if n, err := strconv.Atoi(number); err == nil && n != len(body) && n > 0 {
			return // the worker would wait for the rest of the body
		}
		if header.Set(bus.HeaderBodySize, number); len(body) > 0 && number == "" {
			header.Set(bus.HeaderBodySize, fmt.Sprint(len(body)))
		}
		c.send(t, &nats.Msg{Subject: bus.Analyze.Subject, Header: header}, body)
	})
}

// metadata is the caller's metadata that a handler sees.
type metadata struct {
	caller *schemas.Identity
	id     string
	tenant *string
	record []byte
}

var text = regexp.MustCompile(`^([!-~]([ -~]*[!-~])?)?$`) // header values that NATS does not change

// fuzzClient sends requests and checks the replies.
type fuzzClient struct {
	nc   *nats.Conn
	seen <-chan metadata // of the handlers
}

// send sends the request and its body, and checks the final reply.
func (c fuzzClient) send(t *testing.T, request *nats.Msg, body []byte) {
	t.Helper()
	identity := request.Header.Get(bus.HeaderIdentity)
	sub, err := c.nc.SubscribeSync(c.nc.NewInbox())
	bustest.Must(t, err)
	defer func() { _ = sub.Unsubscribe() }()
	request.Reply = sub.Subject
	bustest.Must(t, c.nc.PublishMsg(request))
	for sent := false; ; {
		msg, err := sub.NextMsg(5 * time.Second)
		if err != nil {
			t.Fatalf("%s %q: %v", request.Subject, request.Data, err)
		}
		if subject := msg.Header.Get(bus.HeaderBodySubject); subject != "" && !sent {
			sent = true
			for _, chunk := range [][]byte{body[:len(body)/2], body[len(body)/2:]} {
				_ = c.nc.Publish(subject, chunk)
			}
		}
		if code := msg.Header.Get(micro.ErrorCodeHeader); code != "" {
			if !slices.Contains([]string{"400", "403"}, code) || !jsontext.Value(msg.Data).IsValid() || len(msg.Data) > 16<<10 {
				t.Errorf("%s %q by %q: %s %.1000s", request.Subject, request.Data, identity, code, msg.Data)
			}
			return
		}
		if len(msg.Data) > 0 {
			(<-c.seen).check(t, identity)
			return
		}
	}
}

// check compares the metadata that a handler saw with the headers sent.
func (s metadata) check(t *testing.T, identity string) {
	t.Helper()
	if !bus.ValidRequestID(s.id) {
		t.Errorf("the request id is %q", s.id)
	}
	var want *schemas.Identity
	if identity != "" {
		want = &schemas.Identity{}
		if err := json.Unmarshal([]byte(identity), want); err != nil {
			t.Errorf("%q admits %+v: %v", identity, s.caller, err)
		}
	}
	if (want == nil) != (s.caller == nil) ||
		want != nil && (want.Role != s.caller.Role || !slices.Equal(want.Tenants, s.caller.Tenants)) {
		t.Errorf("%q admits %+v", identity, s.caller)
	}
	if s.caller.Bound() && s.tenant != nil && !slices.Contains(s.caller.Tenants, *s.tenant) {
		t.Errorf("the identity %q was accepted for tenant %q", identity, *s.tenant)
	}
	var record struct {
		Tenant *string `json:"tenant_id"`
	}
	if s.record == nil {
		return
	}
	if err := json.Unmarshal(s.record, &record); err != nil || (record.Tenant == nil) != (s.tenant == nil) ||
		s.tenant != nil && *record.Tenant != *s.tenant {
		t.Errorf("%q registers %s, of tenant %v: %v", identity, s.record, s.tenant, err)
	}
	if s.caller.Bound() && s.tenant == nil {
		t.Errorf("%q registers in the global collection: %s", identity, s.record)
	}
}
