package bus_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/bus/natsserver"
	"cairn/schemas"
	"cairn/test/wait"
)

// TestRunningRequestsAreDivided sends more requests of one tenant than a service runs at the same time: the others wait
// in its queue, and a request of another tenant runs.
func TestRunningRequestsAreDivided(t *testing.T) {
	t.Parallel()
	server, conn := bustest.Start(t)
	s := bustest.ServiceWithSlots(t, conn, "resolve", 1024)
	released, release := context.WithCancel(t.Context())
	defer release()
	err := bus.ResolveAgent.Serve(s, func(ctx context.Context, q schemas.AgentQuery) (a schemas.AgentAnswer, err error) {
		if q.Query == "wait" {
			<-released.Done()
		}
		return a, nil
	})
	bustest.Must(t, err)
	call := func(client *bus.Conn, tenant, query string) error {
		q := schemas.AgentQuery{Query: query, QueryOptions: schemas.QueryOptions{TenantID: &tenant}}
		_, err := bus.ResolveAgent.Call(t.Context(), client, q)
		return err
	}
	limit := 128 * runtime.GOMAXPROCS(0)
	var callers sync.WaitGroup
	defer callers.Wait()
	defer release()
	clients := dialClients(t, server)
	for i := range limit {
		callers.Go(func() {
			if err := call(clients[i%len(clients)], "acme", "wait"); err != nil && !errors.Is(err, schemas.ErrUnavailable) {
				t.Error(err)
			}
		})
	}
	share := int64(limit * 4 / 5)
	wait.Until(t, "the requests run or wait", func() bool {
		running, queued := bus.Running(s)
		return running == share && queued > 0
	})
	if err := call(conn, "globex", "q"); err != nil {
		t.Errorf("a request of another tenant: %v", err)
	}
}

// dialClients returns connections that together have more requests in flight than a service admits for one tenant.
func dialClients(t *testing.T, server *natsserver.Server) (clients []*bus.Conn) {
	t.Helper()
	for range 16 {
		clients = append(clients, bustest.Dial(t, server))
	}
	return clients
}
