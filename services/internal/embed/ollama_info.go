package embed

import (
	"strconv"
	"strings"
	"time"
)

const (
	// metadataTimeout bounds requests that the server answers from its files.
	metadataTimeout = 5 * time.Second
	// verifyInterval is the interval at which the model is verified. If the model of its name is replaced,
	// vectors of both models may be mixed for that time.
	verifyInterval = time.Minute
)

// modelInfo is the server's description of the model.
type modelInfo struct {
	digest     string // of the model's manifest; empty: unknown
	window     int    // in tokens, a lower bound; 0: unknown
	wordPiece  bool   // whether the tokenizer is BERT's
	dimensions int
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
