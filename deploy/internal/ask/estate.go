package ask

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/schemas"
)

const (
	// maxEstate bounds an estate in bytes: the largest body of an analysis.
	maxEstate = 10 << 20
	// estateTimeout bounds the download of an estate.
	estateTimeout = 30 * time.Second
)

// readEstates returns the text of the estate, joined from several sources.
func readEstates(ctx context.Context, sources []string, stdin io.Reader) (string, error) {
	texts := make([][]byte, len(sources))
	for i, source := range sources {
		var err error
		if texts[i], err = readEstate(ctx, source, stdin); err != nil {
			return "", fmt.Errorf("--estate %s: %w", schemas.RedactURLs(source), err)
		}
	}
	if len(texts) == 1 {
		return string(texts[0]), nil
	}
	text, err := join(sources, texts)
	return text, flags.Usage(err)
}

// readEstate returns the text of an estate without a leading byte order mark.
func readEstate(ctx context.Context, source string, stdin io.Reader) ([]byte, error) {
	text, err := readSource(ctx, source, stdin)
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxEstate:
		return nil, flags.Usage(fmt.Errorf("expected at most %d bytes", maxEstate))
	case len(text) == 0:
		return nil, flags.Usage(errors.New("empty; expected JSON"))
	case !utf8.Valid(text):
		return nil, flags.Usage(errors.New("invalid UTF-8; expected JSON"))
	}
	return text, nil
}

func readSource(ctx context.Context, source string, stdin io.Reader) ([]byte, error) {
	switch {
	case source == "-":
		return io.ReadAll(io.LimitReader(stdin, maxEstate+1))
	case connect.IsURL(source): // read without credentials other than those in the URL
		ctx, cancel := context.WithTimeout(ctx, estateTimeout)
		defer cancel()
		return connect.Download(ctx, http.DefaultClient, source, "application/json", maxEstate+1)
	}
	file, err := os.Open(source)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // opened for reading only
	return io.ReadAll(io.LimitReader(file, maxEstate+1))
}

// join returns an object with the members of all estates. Arrays with the same name are
// concatenated.
func join(sources []string, texts [][]byte) (string, error) {
	all := map[string]jsontext.Value{}
	for i, text := range texts {
		var one map[string]jsontext.Value
		if err := json.Unmarshal(text, &one); err != nil {
			return "", fmt.Errorf("--estate %s: expected a JSON object to join it with others: %w", schemas.RedactURLs(sources[i]), err)
		}
		for name, value := range one {
			joined, err := concatenated(all[name], value)
			if err != nil {
				return "", fmt.Errorf("--estate %s: %q: %w", schemas.RedactURLs(sources[i]), name, err)
			}
			all[name] = joined
		}
	}
	text, err := json.Marshal(all, json.Deterministic(true))
	if err == nil && len(text) > maxEstate {
		err = fmt.Errorf("--estate: expected at most %d bytes in all", maxEstate)
	}
	return string(text), err
}

func concatenated(a, b jsontext.Value) (jsontext.Value, error) {
	if a == nil || bytes.Equal(a, b) && a.Kind() != jsontext.KindBeginArray {
		return b, nil
	}
	var first, second []jsontext.Value
	if json.Unmarshal(a, &first) != nil || json.Unmarshal(b, &second) != nil {
		return nil, errors.New("another estate has a different value; only arrays are joined")
	}
	return json.Marshal(append(first, second...))
}
