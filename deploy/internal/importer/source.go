package importer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/records"
	"cairn/schemas"
)

// requestTimeout bounds a request for a document.
const requestTimeout = 30 * time.Second

// source reads the documents of a source.
type source struct {
	Options
	url      *url.URL // nil: a file, a directory or a command
	document object   // what detection has read
	http     *http.Client
}

// object is a JSON object with unparsed members.
type object map[string]jsontext.Value

func newSource(o Options) (*source, error) {
	s := &source{Options: o, http: http.DefaultClient}
	if !connect.IsURL(o.Source) {
		return s, nil
	}
	u, err := url.Parse(o.Source)
	if err != nil || u.Hostname() == "" {
		// The error is without the URL, which may have a password.
		return nil, flags.Usage(errors.New("invalid URL: expected http://HOST/PATH or https://HOST/PATH"))
	}
	s.url = u
	s.http = &http.Client{Transport: transport{scheme: u.Scheme, host: u.Host, key: o.Key}}
	return s, nil
}

// name returns the provenance of the records, without a password.
func (s *source) name() string {
	switch {
	case s.Name != "":
		return s.Name
	case len(s.Command) > 0:
		return strings.Join(s.Command, " ")
	case s.url != nil:
		return s.address()
	}
	return filepath.ToSlash(filepath.Clean(s.Source))
}

// address returns the URL without a password.
func (s *source) address() string {
	shown := *s.url
	shown.User = nil
	return shown.String()
}

// transport sends the key to the host of the source, encrypted if the source is, and bounds
// responses.
type transport struct{ scheme, host, key string }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	same := r.URL.Host == t.host && (r.URL.Scheme == t.scheme || r.URL.Scheme == "https")
	if t.key != "" && same { // the key is sent to no other server, and not in clear text
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+t.key)
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		res.Body = &limitedBody{res.Body, maxDocument}
	}
	return res, err
}

// limitedBody is a body of at most left bytes.
type limitedBody struct {
	io.ReadCloser
	left int
}

// Read implements io.Reader.
func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

var errTooLarge = flags.Usage(fmt.Errorf("expected a document of at most %d bytes", maxDocument))

// stat describes a regular file of a folder.
func stat(root *os.Root, name string) (fs.FileInfo, error) {
	info, err := root.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: expected a regular file, or a symbolic link to one", name)
	}
	return info, err
}

// readFile returns the content of a regular file of a folder, or an errTooLarge beyond the limit.
func readFile(root *os.Root, name string, limit int) ([]byte, error) {
	if _, err := stat(root, name); err != nil {
		return nil, err
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // opened for reading only
	return io.ReadAll(&limitedBody{file, limit})
}

// get returns the body of a response.
func (s *source) get(ctx context.Context, u *url.URL) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	document := connect.Document{URL: u.String(), Limit: maxDocument + 1,
		Accept: "application/json, application/yaml;q=0.9, */*;q=0.5"}
	return document.Download(ctx, s.http)
}

// read returns the document of the source, an object.
func (s *source) read(ctx context.Context) (object, error) {
	if s.document != nil {
		return s.document, nil
	}
	text, err := s.text(ctx)
	if err != nil {
		return nil, err
	}
	s.document, err = parse(text)
	return s.document, err
}

func (s *source) text(ctx context.Context) ([]byte, error) {
	if s.url != nil {
		return s.get(ctx, s.url)
	}
	if len(s.Command) > 0 {
		return nil, flags.Usage(errors.New("a command is a source of the format mcp"))
	}
	info, err := os.Stat(s.Source)
	if err == nil && !info.Mode().IsRegular() {
		err = flags.Usage(errors.New("expected a regular file"))
	}
	if err != nil {
		return nil, err
	}
	file, err := os.Open(s.Source)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // opened for reading only
	return io.ReadAll(&limitedBody{file, maxDocument})
}

// detect returns the format of the source.
func (s *source) detect(ctx context.Context) (string, error) {
	switch {
	case len(s.Command) > 0:
		return formatMCP, nil
	case s.url != nil:
		return s.detectURL(ctx)
	}
	info, err := os.Stat(s.Source)
	if err != nil {
		return "", err
	}
	if info.IsDir() || strings.EqualFold(filepath.Base(s.Source), "SKILL.md") {
		return formatSkills, nil
	}
	doc, err := s.read(ctx)
	if err != nil {
		return "", err
	}
	if f := formatOf(doc); f != "" {
		return f, nil
	}
	return "", errUnknown
}

// detectURL returns the format of the response, or else of a response at a well-known path. A
// server that rejects GET requests may be an MCP server.
func (s *source) detectURL(ctx context.Context) (string, error) {
	doc, err := s.read(ctx)
	if f := formatOf(doc); f != "" {
		return f, nil
	}
	s.document = nil
	var status *connect.DownloadError
	switch {
	case errors.As(err, &status) &&
		(status.StatusCode == http.StatusMethodNotAllowed || status.StatusCode == http.StatusNotAcceptable):
		return formatMCP, nil
	case strings.HasSuffix(strings.TrimRight(s.url.Path, "/"), "/mcp"):
		return formatMCP, nil
	case !answered(err):
		return "", err
	}
	for _, w := range wellKnown {
		doc, err := s.getBelow(ctx, w.path)
		if !answered(err) {
			return "", err // without trying the formats that have fewer records of the same server
		}
		if isCairn := w.format == formatCairn && doc["records"].Kind() == '['; isCairn ||
			doc != nil && formatOf(doc) == w.format {
			return w.format, nil
		}
	}
	return "", errUnknown
}

// answered reports whether the server has answered a request, and does not require another credential.
func answered(err error) bool {
	var status *connect.DownloadError
	if errors.As(err, &status) {
		return status.StatusCode != http.StatusUnauthorized && status.StatusCode != http.StatusForbidden
	}
	return err == nil || errors.Is(err, errNoDocument)
}

// getBelow reads the document at a path below the URL. If its format is known, the source continues
// with that document and URL.
func (s *source) getBelow(ctx context.Context, path string) (object, error) {
	below, err := s.url.Parse(strings.TrimRight(s.url.Path, "/") + "/" + path)
	if err != nil {
		return nil, err
	}
	text, err := s.get(ctx, below)
	if err != nil {
		return nil, err
	}
	doc, err := parse(text)
	if err != nil {
		return nil, err
	}
	if formatOf(doc) != "" {
		s.url, s.document = below, doc
	}
	return doc, nil
}

// page reads the page of a registry after a cursor.
func (s *source) page(ctx context.Context, cursor string) (object, error) {
	page := *s.url
	query := page.Query()
	query.Set("cursor", cursor)
	page.RawQuery = query.Encode()
	text, err := s.get(ctx, &page)
	if err != nil {
		return nil, err
	}
	return parse(text)
}

// errNoDocument is the error for text that is neither a JSON nor a YAML object.
var errNoDocument = flags.Usage(errors.New("expected one JSON or YAML object"))

// parse reads a JSON or YAML object. A list of servers or agent cards becomes an object with the list. The error is
// an errNoDocument.
func parse(text []byte) (doc object, err error) {
	text, err = toJSON(text)
	if err != nil {
		return nil, fmt.Errorf("%w, got %w", errNoDocument, err)
	}
	if text[0] == '[' {
		text = slices.Concat([]byte(`{"`+listOf(text)+`":`), text, []byte("}"))
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("%w: %s", errNoDocument, schemas.DecodingMessage(err))
	}
	return doc, nil
}

// toJSON returns JSON or YAML text as JSON.
func toJSON(text []byte) ([]byte, error) {
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\uFEFF")))
	switch {
	case len(text) == 0:
		return nil, errors.New("an empty text")
	case text[0] == '{' || text[0] == '[':
		return text, nil
	}
	var document yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&document); err != nil {
		return nil, fmt.Errorf("invalid YAML: %w", err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("several YAML documents")
	}
	keepVersions(document.Content[0])
	return records.YAMLToJSON(&document)
}

// keepVersions makes versions without quotes texts: the number 1.0 would be 1.
func keepVersions(n *yaml.Node) {
	for i := 1; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		name, value := n.Content[i-1].Value, n.Content[i]
		switch {
		case name == "info":
			keepVersions(value)
		case value.ShortTag() == "!!float" && slices.Contains([]string{"openapi", "swagger", "version"}, name):
			value.SetString(value.Value)
		}
	}
}

// listOf returns the name of a list: cards if its first item is an agent card, otherwise servers, as a registry
// has them.
func listOf(text []byte) string {
	var items []object
	if json.Unmarshal(text, &items) == nil && len(items) > 0 && formatOf(items[0]) == formatCard {
		return listOfCards
	}
	return "servers"
}

// text returns a member that is a string, or an empty string.
func (o object) text(name string) (text string) {
	_ = json.Unmarshal(o[name], &text) // another type is absent
	return text
}

// decode decodes a document into its interpreted members. Its error is a usage error.
func decode(doc object, into any) error {
	text, err := json.Marshal(doc, json.Deterministic(true))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return flags.Usage(errors.New(schemas.DecodingMessage(err)))
	}
	return nil
}
