package ollama

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ollama/ollama/api"
	ollama "github.com/ollama/ollama/types/model"

	"cairn/services/internal/model"
)

// showTimeout bounds the question what a model can do, which a server answers
// from its files, also while it is busy.
const showTimeout = 5 * time.Second

// abilities is what the server says of a model.
type abilities struct {
	chat   bool
	tools  bool
	think  bool
	length int    // the longest context, in tokens; 0: not said
	remote string // the host that runs the model instead of the server
}

// limit is the context that a request for n tokens gets: the server lowers n
// without a word.
func (a *abilities) limit(n int) int {
	if a.length > 0 {
		return min(n, a.length)
	}
	return n
}

// Window is what num_ctx asks for, or what the model has, if that is less.
func (m *Model) Window(ctx context.Context) (int, error) {
	can, err := m.abilities(ctx)
	if err != nil {
		return 0, err
	}
	return can.limit(m.numCtx), nil
}

// Check says whether the server answers and has the model, and whether the
// model can call tools. Its errors wrap [model.ErrUnavailable], or ctx.Err().
func (m *Model) Check(ctx context.Context) error {
	can, err := m.show(ctx)
	switch {
	case err != nil:
	case !can.chat || !can.tools:
		err = fmt.Errorf("%w: the model cannot chat with tools", model.ErrUnavailable)
	}
	if err != nil {
		return fmt.Errorf("check %s: %w", m.url, err)
	}
	return nil
}

// abilities asks the server once and remembers the answer.
func (m *Model) abilities(ctx context.Context) (*abilities, error) {
	if can := m.known.Load(); can != nil {
		return can, nil
	}
	return m.show(ctx)
}

func (m *Model) show(ctx context.Context) (*abilities, error) {
	bounded, cancel := context.WithTimeout(ctx, showTimeout)
	defer cancel()
	can, err := abilitiesOf(bounded, m.client, m.settings.model)
	switch {
	case err == nil:
		m.known.Store(can)
		return can, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case bounded.Err() != nil:
		return nil, fmt.Errorf("%w: no answer within %v", model.ErrUnavailable, showTimeout)
	default:
		return nil, explain(err)
	}
}

func abilitiesOf(ctx context.Context, client *api.Client, name string) (*abilities, error) {
	shown, err := client.Show(ctx, &api.ShowRequest{Model: name})
	if err != nil {
		return nil, err
	}
	can := func(c ollama.Capability) bool { return slices.Contains(shown.Capabilities, c) }
	family, _ := shown.ModelInfo["general.architecture"].(string)
	length, _ := shown.ModelInfo[family+".context_length"].(float64)
	return &abilities{
		chat:   can(ollama.CapabilityCompletion),
		tools:  can(ollama.CapabilityTools),
		think:  can(ollama.CapabilityThinking),
		length: int(length),
		remote: shown.RemoteHost,
	}, nil
}
