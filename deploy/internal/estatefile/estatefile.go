// Package estatefile reads estates from files, URLs and stdin.
package estatefile

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/pflag"

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

// ErrMissing is the usage error of a command without an estate.
var ErrMissing = errors.New("--estate is required: a JSON file, a URL, or - for stdin")

// Flag defines --estate.
func Flag(f *pflag.FlagSet, estates *[]string) {
	f.StringArrayVar(estates, "estate", nil, "JSON `FILE` or URL of the estate; - is stdin; may be repeated")
}

// ReadAll returns the text of the estate, joined from several sources.
func ReadAll(ctx context.Context, sources []string, stdin io.Reader) (string, error) {
	texts := make([][]byte, len(sources))
	for i, source := range sources {
		var err error
		if texts[i], err = Read(ctx, source, stdin); err != nil {
			return "", fmt.Errorf("--estate %s: %w", schemas.RedactURLs(source), err)
		}
	}
	if len(texts) == 1 {
		return string(texts[0]), nil
	}
	text, err := join(sources, texts)
	return text, flags.Usage(err)
}

// Read returns the text of an estate without a leading byte order mark. A file whose name ends with .gz is
// decompressed.
func Read(ctx context.Context, source string, stdin io.Reader) ([]byte, error) {
	text, err := readSource(ctx, source, stdin)
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxEstate:
		return nil, flags.Usage(fmt.Errorf("expected at most %d bytes", maxEstate))
	case len(text) == 0:
		return nil, flags.Usage(errors.New("empty; expected JSON"))
	case isUTF16(text):
		return nil, flags.Usage(errors.New("UTF-16; expected UTF-8"))
	case !utf8.Valid(text):
		return nil, flags.Usage(errors.New("invalid UTF-8; expected JSON"))
	}
	return text, nil
}

// isUTF16 reports whether a text begins with a byte order mark of UTF-16, or with a NUL byte in its
// first two characters.
func isUTF16(text []byte) bool {
	return bytes.HasPrefix(text, []byte("\xFE\xFF")) || bytes.HasPrefix(text, []byte("\xFF\xFE")) ||
		bytes.IndexByte(text[:min(4, len(text))], 0) >= 0
}

func readSource(ctx context.Context, source string, stdin io.Reader) ([]byte, error) {
	switch {
	case source == "-":
		return io.ReadAll(io.LimitReader(stdin, maxEstate+1))
	case connect.IsURL(source): // read without credentials other than those in the URL
		ctx, cancel := context.WithTimeout(ctx, estateTimeout)
		defer cancel()
		document := connect.Document{URL: source, Accept: "application/json", Limit: maxEstate + 1}
		return document.Download(ctx, http.DefaultClient)
	}
	file, err := os.Open(source)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // opened for reading only
	var content io.Reader = file
	if strings.HasSuffix(source, ".gz") {
		if content, err = gzip.NewReader(file); err != nil {
			return nil, flags.Usage(err)
		}
	}
	return io.ReadAll(io.LimitReader(content, maxEstate+1))
}

// join returns an object with the members of all estates. Arrays with the same name are
// concatenated.
func join(sources []string, texts [][]byte) (string, error) {
	members := map[string]jsontext.Value{}
	for i, text := range texts {
		estate, err := topLevel(text)
		if err != nil {
			return "", fmt.Errorf("--estate %s: %w", schemas.RedactURLs(sources[i]), err)
		}
		for name, value := range estate {
			joined, err := concatenated(members[name], value)
			if err != nil {
				return "", fmt.Errorf("--estate %s: %q: %w", schemas.RedactURLs(sources[i]), name, err)
			}
			members[name] = joined
		}
	}
	text, err := json.Marshal(members, json.Deterministic(true))
	if err == nil && len(text) > maxEstate {
		err = fmt.Errorf("--estate: expected at most %d bytes in all", maxEstate)
	}
	return string(text), err
}

// errNotJoinable is the error of an estate without members to join.
var errNotJoinable = errors.New("expected a JSON object, an array or JSON Lines to join it with others")

// topLevel returns the members of an estate. An array and JSON Lines are the member items, as on the
// server.
func topLevel(text []byte) (members map[string]jsontext.Value, err error) {
	var values []jsontext.Value
	objects := 0
	for d := jsontext.NewDecoder(bytes.NewReader(text)); ; {
		value, err := d.ReadValue()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errNotJoinable, err)
		}
		if value.Kind() == jsontext.KindBeginObject {
			objects++
		}
		values = append(values, value.Clone())
	}
	switch {
	case objects == 1 && len(values) == 1:
		err = json.Unmarshal(values[0], &members)
		return members, err
	case objects == len(values) && objects > 0:
		items, err := json.Marshal(values)
		return map[string]jsontext.Value{"items": items}, err
	case len(values) == 1 && values[0].Kind() == jsontext.KindBeginArray:
		return map[string]jsontext.Value{"items": values[0]}, nil
	}
	return nil, errNotJoinable
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
