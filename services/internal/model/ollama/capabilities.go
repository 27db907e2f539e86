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

// showTimeout bounds a request for the model's capabilities. A server answers it from
// its files, even under load.
const showTimeout = 5 * time.Second

// capabilities are the capabilities and limits that the server reports for a model.
type capabilities struct {
	chat   bool
	tools  bool
	think  bool
	length int    // the longest context, in tokens; 0: not reported
	remote string // the host to which the server forwards requests; empty: none
}

// limit returns the effective context for a request of n tokens. The server reduces n
// to the model's context without an error.
func (a *capabilities) limit(n int) int {
	if a.length > 0 {
		return min(n, a.length)
	}
	return n
}

// Window returns num_ctx, or the model's context if that is smaller.
func (m *Model) Window(ctx context.Context) (int, error) {
	can, err := m.capabilities(ctx)
	if err != nil {
		return 0, err
	}
	return can.limit(m.numCtx), nil
}

// Check returns nil if the server responds and has the model, and the model can call
// tools. Other errors wrap [model.ErrUnavailable] or ctx.Err().
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

// capabilities returns the cached capabilities, or requests them.
func (m *Model) capabilities(ctx context.Context) (*capabilities, error) {
	if can := m.known.Load(); can != nil {
		return can, nil
	}
	return m.show(ctx)
}

func (m *Model) show(ctx context.Context) (*capabilities, error) {
	bounded, cancel := context.WithTimeout(ctx, showTimeout)
	defer cancel()
	can, err := capabilitiesOf(bounded, m.client, m.settings.model)
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

func capabilitiesOf(ctx context.Context, client *api.Client, name string) (*capabilities, error) {
	shown, err := client.Show(ctx, &api.ShowRequest{Model: name})
	if err != nil {
		return nil, err
	}
	can := func(c ollama.Capability) bool { return slices.Contains(shown.Capabilities, c) }
	family, _ := shown.ModelInfo["general.architecture"].(string)
	length, _ := shown.ModelInfo[family+".context_length"].(float64)
	return &capabilities{
		chat:   can(ollama.CapabilityCompletion),
		tools:  can(ollama.CapabilityTools),
		think:  can(ollama.CapabilityThinking),
		length: int(length),
		remote: shown.RemoteHost,
	}, nil
}
