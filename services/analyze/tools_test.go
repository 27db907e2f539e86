package analyze

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/bus/overload"
	"cairn/services/internal/estate"
	"cairn/services/internal/model"
)

func pumps(t *testing.T) tools {
	t.Helper()
	e, err := estate.Parse([]byte(`{"pumps":[{"site":"a"},{"site":"b"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return tools{e}
}

func TestIdenticalCallsRunOnce(t *testing.T) {
	t.Parallel()
	call := func(input string) model.Call { return model.Call{Name: computeStats, Input: []byte(input)} }
	count, group := call(`{"data_key":"pumps"}`), call(`{"data_key":"pumps","group_by":"site"}`)
	got, err := pumps(t).all(t.Context(), []model.Call{count, group, count}, maxResult)
	if err != nil {
		t.Fatal(err)
	}
	if &got[0].answer[0] != &got[2].answer[0] {
		t.Error("an identical call ran twice")
	}
	if string(got[0].answer) != `{"groups":{},"total":2,"matched":2,"records":2}` || !strings.Contains(string(got[1].answer), `"a":1`) {
		t.Errorf("got %+v", got)
	}
}

// TestMaxCalls: further calls of a message are not run, and return an error result.
func TestMaxCalls(t *testing.T) {
	t.Parallel()
	var calls []model.Call
	for i := range maxCalls + 2 {
		calls = append(calls, model.Call{Name: inspectSchema, Input: fmt.Appendf(nil, `{"data_key":"pumps"%s}`, strings.Repeat(" ", i))})
	}
	got, err := pumps(t).all(t.Context(), calls, maxResult)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range got {
		if notRun := strings.Contains(string(r.answer),
			`"error":"not run: a message may have at most 16 calls, got 18`); notRun != (i >= maxCalls) {
			t.Errorf("call %d of %d: %s", i+1, len(calls), r.answer)
		}
	}
}

func TestCallsEndWithContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{inspectSchema, computeStats} {
		got, err := pumps(t).all(ctx, []model.Call{{Name: name, Input: []byte(`{"data_key":"pumps"}`)}}, maxResult)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %+v, %v, want %v", name, got, err, context.Canceled)
		}
	}
}

// TestWaitingRequestsRunBetweenCalls: a request that waits for CPU time runs before the calls of another
// one have ended.
func TestWaitingRequestsRunBetweenCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		running := 2 * runtime.GOMAXPROCS(0) // the lowest limit of a gate
		gate := overload.New(2 * running)
		start := func(tenant string) *overload.Slot {
			slot := gate.Admit(tenant)
			if !slot.Start(t.Context()) {
				t.Fatal("a request within the limit does not run")
			}
			return slot
		}
		for i := range running - 1 {
			defer start(fmt.Sprint(i)).Close()
		}
		computing := start("acme")
		defer computing.Close()
		gate.Adjust(time.Second)
		ran := make(chan struct{})
		go func() {
			waiting := gate.Admit("globex")
			waiting.Start(t.Context())
			close(ran)
			waiting.Close()
		}()
		synctest.Wait()
		call := model.Call{Name: computeStats, Input: []byte(`{"data_key":"pumps"}`)}
		if _, err := pumps(t).all(overload.WithSlot(t.Context(), computing), []model.Call{call}, maxResult); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ran:
		default:
			t.Error("the waiting request did not run")
		}
	})
}
