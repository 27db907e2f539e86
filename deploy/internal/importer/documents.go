package importer

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/deploy/internal/flags"
)

const (
	// maxReferences bounds consecutive references.
	maxReferences = 12
	// maxDocuments bounds the files that an OpenAPI document refers to.
	maxDocuments = 10_000
)

var (
	errExternal  = errors.New("expected a reference to a part of the document or to a file of its folder")
	errDangling  = errors.New("expected a reference to a part of the document")
	errDocuments = flags.Usage(fmt.Errorf("expected at most %d files and %d bytes that the document refers to",
		maxDocuments, maxDocument))
)

// documents are an OpenAPI document and the files of its folder that it refers to.
type documents struct {
	root  *os.Root // opens no file outside of the folder, not even through symbolic links; nil: there is no folder
	main  string   // the path of the document
	files map[string]*document
	left  int   // bytes that the files may have
	err   error // a limit was exceeded
}

// document is a file; anchors are read when a reference needs them.
type document struct {
	value   any
	anchors map[string]any
	err     error
}

// place is a value, and the file from which its relative references start.
type place struct {
	file  string
	value any
}

// target returns the file and the fragment of a reference.
func (d *documents) target(file, ref string) (name, fragment string) {
	name, fragment, _ = strings.Cut(ref, "#")
	if name == "" {
		return file, unescape(fragment)
	}
	return path.Join(path.Dir(file), unescape(name)), unescape(fragment)
}

// unescape decodes percent-encoding, and returns text that is not encoded.
func unescape(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// find returns the value that a reference in a file names. URLs are not followed.
func (d *documents) find(file, ref string) (place, error) {
	name, fragment := d.target(file, ref)
	doc, err := d.open(name, ref)
	if err != nil {
		return place{}, err
	}
	value := doc.value
	switch {
	case fragment == "":
	case fragment[0] == '/':
		value = partOf(doc.value, fragment)
	default:
		value = doc.anchor(fragment)
	}
	if value == nil {
		return place{}, errDangling
	}
	return place{name, value}, nil
}

// open returns the document of a file that ref refers to.
func (d *documents) open(name, ref string) (*document, error) {
	doc := d.files[name]
	if doc == nil {
		outside, _, _ := strings.Cut(ref, "#")
		if d.root == nil || strings.Contains(outside, ":") || strings.HasPrefix(outside, "/") {
			return nil, errExternal
		}
		if len(d.files) >= maxDocuments {
			d.err = errDocuments
			return nil, d.err
		}
		doc = &document{}
		if doc.value, doc.err = d.read(name); doc.err != nil {
			if file, ok := errors.AsType[*fs.PathError](doc.err); ok {
				doc.err = fmt.Errorf("%s: %w", name, file.Err)
			}
			doc.err = fmt.Errorf("%w: %w", errExternal, doc.err)
		}
		d.files[name] = doc
	}
	return doc, doc.err
}

func (d *documents) read(name string) (any, error) {
	text, err := readFile(d.root, name, d.left)
	if errors.Is(err, errTooLarge) {
		d.err = errDocuments
	}
	if err != nil {
		return nil, err
	}
	d.left -= len(text)
	if text, err = toJSON(text); err != nil {
		return nil, err
	}
	return tree(text)
}

// exactNumbers decodes numbers of an any as they are written: a float64 would change integers beyond 2^53.
var exactNumbers = json.WithUnmarshalers(json.UnmarshalFromFunc(func(d *jsontext.Decoder, v *any) error {
	if d.PeekKind() != jsontext.KindNumber {
		return errors.ErrUnsupported
	}
	number, err := d.ReadValue()
	*v = number.Clone()
	return err
}))

func tree(text []byte) (value any, err error) {
	return value, json.Unmarshal(text, &value, exactNumbers)
}

// partOf returns the part of a value at a JSON pointer; nil: none.
func partOf(value any, pointer string) any {
	for name := range jsontext.Pointer(pointer).Tokens() {
		switch v := value.(type) {
		case map[string]any:
			value = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// anchor returns the schema with an $anchor; nil: none.
func (d *document) anchor(name string) any {
	if d.anchors == nil {
		d.anchors = map[string]any{}
		d.collectAnchors(d.value)
	}
	return d.anchors[name]
}

func (d *document) collectAnchors(value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			d.collectAnchors(item)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if anchor, ok := v[name].(string); ok && name == "$anchor" && d.anchors[anchor] == nil {
				d.anchors[anchor] = v
			}
			d.collectAnchors(v[name])
		}
	}
}

// members returns the members of an object, and those of the objects that its $ref refers to, one after the other.
func (d *documents) members(p place) (map[string]place, error) {
	list := map[string]place{}
	for range maxReferences {
		object, ok := p.value.(map[string]any)
		if !ok {
			return nil, errors.New("expected an object")
		}
		for name, value := range object {
			if _, ok := list[name]; !ok && name != "$ref" {
				list[name] = place{p.file, value}
			}
		}
		if object["$ref"] == nil {
			return list, nil
		}
		ref, ok := object["$ref"].(string)
		if !ok {
			return nil, errors.New("$ref: expected a string")
		}
		var err error
		if p, err = d.find(p.file, ref); err != nil {
			return nil, fmt.Errorf("$ref: %w, got %.200q", err, ref)
		}
	}
	return nil, fmt.Errorf("$ref: expected at most %d references, one to the next", maxReferences)
}
