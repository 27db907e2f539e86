package ollama_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	types "github.com/ollama/ollama/types/model"

	"cairn/services/internal/model"
	"cairn/services/internal/model/modeltest"
	"cairn/services/internal/model/ollama"
	"cairn/services/internal/model/ollamatest"
	"cairn/test/wait"
)

func open(t *testing.T, url string) *ollama.Model {
	t.Helper()
	m, err := ollama.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestConformance(t *testing.T) {
	t.Parallel()
	modeltest.Conform(t, func(t *testing.T, settings string, script ...modeltest.Turn) modeltest.Scripted {
		srv := ollamatest.New(t, script...)
		return modeltest.Scripted{
			Model:       open(t, srv.URL()+settings),
			Requests:    func() int { return len(srv.Requests()) },
			Disconnects: srv.Disconnects(),
		}
	})
}

func TestCallKeysAreSorted(t *testing.T) {
	t.Parallel()
	srv := ollamatest.New(t, modeltest.ToolTurn("inspect_schema", `{"note":"a > b","data_key":"servers"}`))
	got, err := modeltest.Collect(t.Context(), open(t, srv.URL()), modeltest.Question())
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"data_key":"servers","note":"a > b"}`; len(got.Calls) != 1 || string(got.Calls[0].Input) != want {
		t.Errorf("calls %+v, want one with %s", got.Calls, want)
	}
}

func TestConnectionCutBeforeFirstPart(t *testing.T) {
	t.Parallel()
	cut := modeltest.Turn{End: modeltest.Cut}
	m := open(t, ollamatest.New(t, cut, modeltest.TextTurn("Four.")).URL())
	if got, err := modeltest.Collect(t.Context(), m, modeltest.Question()); err != nil || got.Text != "Four." {
		t.Errorf("after one: %q, %v", got.Text, err)
	}
	_, err := modeltest.Collect(t.Context(), open(t, ollamatest.New(t, cut, cut).URL()), modeltest.Question())
	modeltest.CheckError(t, err, model.ErrUnavailable, "EOF")
}

func TestCancellationKeepsModelLoaded(t *testing.T) {
	t.Parallel()
	srv := ollamatest.New(t, modeltest.Turn{End: modeltest.Hang})
	ctx, cancel := context.WithCancel(t.Context())
	m := open(t, srv.URL())
	var request sync.WaitGroup
	request.Go(func() {
		if _, err := modeltest.Collect(ctx, m, modeltest.Question()); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want context.Canceled", err)
		}
	})
	wait.Until(t, "the request is sent", func() bool { return len(srv.Requests()) == 1 })
	cancel()
	request.Wait()
	if srv.Unloads() != 0 {
		t.Error("the model was unloaded")
	}
}

func TestServerUnavailable(t *testing.T) {
	t.Parallel()
	m := open(t, "ollama://127.0.0.1:1/qwen3:8b")
	_, err := modeltest.Collect(t.Context(), m, modeltest.Question())
	modeltest.CheckError(t, err, model.ErrUnavailable, "refused")
	modeltest.CheckError(t, m.Check(t.Context()), model.ErrUnavailable, "refused")
}

func TestServerStopsBetweenMessages(t *testing.T) {
	t.Parallel()
	srv := ollamatest.New(t, modeltest.TextTurn("Four."))
	m := open(t, srv.URL())
	if _, err := modeltest.Collect(t.Context(), m, modeltest.Question()); err != nil {
		t.Fatal(err)
	}
	srv.Close()
	_, err := modeltest.Collect(t.Context(), m, modeltest.Question())
	modeltest.CheckError(t, err, model.ErrUnavailable, "refused")
}

func TestCheck(t *testing.T) {
	t.Parallel()
	chat, tools := types.CapabilityCompletion, types.CapabilityTools
	for _, row := range []struct {
		name     string
		settings string
		info     ollamatest.Info
		message  string // empty: no error
	}{
		{"a model that chats with tools", "?plan=tools",
			ollamatest.Info{Name: ollamatest.Model, Capabilities: []types.Capability{chat, tools}}, ""},
		{"a model without tools", "", ollamatest.Info{Name: ollamatest.Model, Capabilities: []types.Capability{chat}}, ""},
		{"a model without tools that plans by tools", "?plan=tools",
			ollamatest.Info{Name: ollamatest.Model, Capabilities: []types.Capability{chat}}, "cannot call tools"},
		{"a model for embeddings", "",
			ollamatest.Info{Name: ollamatest.Model, Capabilities: []types.Capability{types.CapabilityEmbedding}}, "cannot chat"},
		{"no such model", "", ollamatest.Info{Name: "other:latest"}, "not found"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			srv := ollamatest.New(t)
			srv.SetModels(row.info)
			err := open(t, srv.URL()+row.settings).Check(t.Context())
			if row.message != "" {
				modeltest.CheckError(t, err, model.ErrUnavailable, row.message)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}
