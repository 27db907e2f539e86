package embed

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ollama/ollama/api"
	ollama "github.com/ollama/ollama/types/model"
)

const (
	// askTimeout bounds questions that a server answers from its files.
	askTimeout = 5 * time.Second
	// Someone may replace a model under its name. Within this time after it
	// vectors of the old and of the new one may be taken for the same.
	verifyEvery = time.Minute
)

// identity is what the server says of the model.
type identity struct {
	digest     string // of the model's manifest; empty: not said
	window     int    // in tokens, never less than it is; 0: not said
	wordPiece  bool   // its tokenizer is BERT's
	dimensions int
}

// identify asks the server what model it has. The dimensions are left out:
// only a vector tells.
func (m *model) identify(ctx context.Context) (*identity, error) {
	shown, err := m.client.Show(ctx, &api.ShowRequest{Model: m.name})
	if err != nil {
		return nil, explain(err)
	}
	can := shown.Capabilities
	if len(can) > 0 && !slices.Contains(can, ollama.CapabilityEmbedding) {
		return nil, unavailable("it is no embedding model")
	}
	digest, err := m.digest(ctx)
	if err != nil {
		return nil, err
	}
	return &identity{
		digest:    digest,
		window:    m.window(shown),
		wordPiece: shown.ModelInfo["tokenizer.ggml.model"] == "bert",
	}, nil
}

// window is the least of what the model was trained for and what is set. A
// server where nothing is set may take less.
func (s *settings) window(shown *api.ShowResponse) (least int) {
	arch, _ := shown.ModelInfo["general.architecture"].(string)
	trained, _ := shown.ModelInfo[arch+".context_length"].(float64)
	set := s.numCtx
	if set == 0 {
		set = parameter(shown.Parameters, "num_ctx")
	}
	for _, n := range []int{int(trained), set} {
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// parameter finds a number among the lines of a model's parameters.
func parameter(lines, name string) int {
	for line := range strings.Lines(lines) {
		if words := strings.Fields(line); len(words) == 2 && words[0] == name {
			n, _ := strconv.Atoi(words[1]) // no number, no parameter
			return n
		}
	}
	return 0
}

// digest is that of the model's manifest, as the server lists it.
func (m *model) digest(ctx context.Context) (string, error) {
	list, err := m.client.List(ctx)
	var refused api.StatusError
	if errors.As(err, &refused) && refused.StatusCode == http.StatusNotFound {
		return "", nil // something that speaks like Ollama, and has no list
	}
	if err != nil {
		return "", explain(err)
	}
	name := ollama.ParseName(m.name)
	for _, listed := range list.Models {
		if ollama.ParseName(listed.Name).EqualFold(name) {
			return listed.Digest, nil
		}
	}
	return "", unavailable("the server does not have it, ollama pull fetches it")
}

// verify makes sure that the model is the one that made the vectors so far.
func (m *model) verify(ctx context.Context, id *identity) error {
	return limit(ctx, askTimeout, func(ctx context.Context) error {
		digest, err := m.digest(ctx)
		switch {
		case err != nil:
			return err
		case digest != id.digest:
			return unavailable("it was replaced by another of its name since the start of this process; start anew to use that")
		}
		m.verified.Store(time.Now().UnixNano())
		return nil
	})
}

// space names all that decides what vectors the model makes.
func (m *model) space(id *identity) Space {
	how := fmt.Sprintf("%s|%q|%d|%d", cleaning, m.prefixes, m.numCtx, m.settings.dimensions)
	digest := strings.TrimPrefix(id.digest, "sha256:")
	return Space{
		Name:       fmt.Sprintf("%s@%.12s+%.4x", m.name, digest, sha256.Sum256([]byte(how))),
		Dimensions: id.dimensions,
		Floor:      m.floor,
	}
}
