package ollama

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ollama/ollama/api"
	ollama "github.com/ollama/ollama/types/model"
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

	parameters float64 // 0: not reported
}

// limit returns the effective context for a request of n tokens. The server reduces n
// to the model's context without an error.
func (a *capabilities) limit(n int) int {
	if a.length > 0 {
		return min(n, a.length)
	}
	return n
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

		parameters: parametersOf(shown),
	}, nil
}

// parametersOf returns the number of parameters; 0: not reported.
func parametersOf(shown *api.ShowResponse) float64 {
	if n, ok := shown.ModelInfo["general.parameter_count"].(float64); ok && n > 0 {
		return n
	}
	size := strings.ToUpper(shown.Details.ParameterSize) // such as 1.5B
	digits := strings.TrimRight(size, "KMBT")
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0
	}
	return n * map[string]float64{"": 1, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}[size[len(digits):]]
}
