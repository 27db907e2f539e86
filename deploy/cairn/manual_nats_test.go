package main

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"cairn/bus"
	"cairn/schemas"
	"cairn/test/wait"
)

var natsRequest = regexp.MustCompile(`(?m)^nats req (--replies 0 )?(\S+) '(.*)'$`)

// natsCommands runs the nats request commands of a page.
func natsCommands(t *testing.T, page string) {
	s, address := reached(t)
	do(t, "", "apply", "--url", s.http, "../examples/knowledge").must(t)
	nc, err := nats.Connect(address)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	requests := natsRequest.FindAllStringSubmatch(page, -1)
	if len(requests) < 2 {
		t.Errorf("the page has %d requests to NATS", len(requests))
	}
	for _, r := range requests {
		last := sendNATS(t, nc, &nats.Msg{Subject: r[2], Data: []byte(r[3])}, r[1] != "")
		if code := last.Header.Get(micro.ErrorCodeHeader); code != "" {
			t.Errorf("%s: %s %s", r[0], code, last.Data)
		}
	}
}

// sendNATS sends a request like the nats command and returns the reply, for a stream the
// last message.
func sendNATS(t *testing.T, nc *nats.Conn, request *nats.Msg, stream bool) *nats.Msg {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Timeout)
	defer cancel()
	inbox, err := nc.SubscribeSync(nc.NewRespInbox())
	if err != nil {
		t.Fatal(err)
	}
	request.Reply = inbox.Subject
	if err := nc.PublishMsg(request); err != nil {
		t.Fatal(err)
	}
	for received := ""; ; {
		msg, err := inbox.NextMsgWithContext(ctx)
		if err != nil {
			t.Fatalf("%s, after %q: %v", request.Subject, received, err)
		}
		event := msg.Header.Get(bus.HeaderEvent)
		received += event + " "
		if !stream || event == schemas.EventDone || msg.Header.Get(micro.ErrorCodeHeader) != "" {
			if stream && !strings.Contains(received, schemas.EventTextDelta) {
				t.Errorf("%s: %s; want text", request.Subject, received)
			}
			return msg
		}
	}
}
