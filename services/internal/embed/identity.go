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
	// metadataTimeout bounds requests that the server answers from its files.
	metadataTimeout = 5 * time.Second
	// A model may be replaced under its name. For this long, vectors of the old and
	// the new one may be mixed up.
	verifyInterval = time.Minute
)

// identity is the server's description of the model.
type identity struct {
	digest     string // of the model's manifest; empty: unknown
	window     int    // in tokens, a lower bound; 0: unknown
	wordPiece  bool   // whether the tokenizer is BERT's
	dimensions int
}

// identify queries the model's identity. The dimensions are known only from a
// vector.
func (m *model) identify(ctx context.Context) (*identity, error) {
	shown, err := m.client.Show(ctx, &api.ShowRequest{Model: m.name})
	if err != nil {
		return nil, explain(err)
	}
	capabilities := shown.Capabilities
	if len(capabilities) > 0 && !slices.Contains(capabilities, ollama.CapabilityEmbedding) {
		return nil, unavailable("the model does not support embeddings")
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

// window returns the smaller of the trained window and the configured one. A server
// without a configured one may use less.
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

// parameter returns a number from the model's parameter lines.
func parameter(lines, name string) int {
	for line := range strings.Lines(lines) {
		if words := strings.Fields(line); len(words) == 2 && words[0] == name {
			n, _ := strconv.Atoi(words[1]) // invalid: as if absent
			return n
		}
	}
	return 0
}

// digest returns the digest of the model's manifest.
func (m *model) digest(ctx context.Context) (string, error) {
	list, err := m.client.List(ctx)
	var rejected api.StatusError
	if errors.As(err, &rejected) && rejected.StatusCode == http.StatusNotFound {
		return "", nil // an Ollama-compatible server without a list of models
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
	return "", unavailable("model not found on the server; run ollama pull")
}

// verify checks that the server still has the model of the earlier vectors.
func (m *model) verify(ctx context.Context, id *identity) error {
	return limit(ctx, metadataTimeout, func(ctx context.Context) error {
		digest, err := m.digest(ctx)
		switch {
		case err != nil:
			return err
		case digest != id.digest:
			return unavailable("the model was replaced under its name since this process started; restart the process to use the new one")
		}
		m.verified.Store(time.Now().UnixNano())
		return nil
	})
}

// space returns a name of everything that determines the vectors.
func (m *model) space(id *identity) Space {
	how := fmt.Sprintf("%s|%q|%d|%d", cleaningVersion, m.prefixes, m.numCtx, m.settings.dimensions)
	digest := strings.TrimPrefix(id.digest, "sha256:")
	return Space{
		Name:       fmt.Sprintf("%s@%.12s+%.4x", m.name, digest, sha256.Sum256([]byte(how))),
		Dimensions: id.dimensions,
		Floor:      m.floor,
	}
}
