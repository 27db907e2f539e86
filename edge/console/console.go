// Package console is the web console: the files that a browser loads from an edge.
// They are ES modules without a build step, and they use the public HTTP API only.
package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"path"
)

//go:embed static
var static embed.FS

// ContentSecurityPolicy is the policy of the page: only files of this server, nothing
// inline, and no text that becomes a script or HTML.
const ContentSecurityPolicy = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

// Index is the name of the page.
const Index = "index.html"

// File is a file of the console.
type File struct {
	Content []byte
	Gzip    []byte // Content, compressed
	Media   string
}

// Console is all files of the console. It does not change and may be used concurrently.
type Console struct {
	// Build identifies the content of all files. The page refers to them below it, so that
	// browsers can store them without checking for changes.
	Build string
	files map[string]File
}

// Load reads the embedded files.
func Load() (*Console, error) {
	names, err := fs.Glob(static, "static/*")
	if err != nil {
		return nil, err
	}
	c := &Console{files: map[string]File{}}
	content := make([][]byte, len(names))
	sum := sha256.New()
	for i, name := range names {
		if content[i], err = static.ReadFile(name); err != nil {
			return nil, err
		}
		sum.Write(content[i])
	}
	c.Build = hex.EncodeToString(sum.Sum(nil)[:8])
	for i, name := range names {
		name = path.Base(name)
		if name == Index {
			content[i] = bytes.ReplaceAll(content[i], []byte("{build}"), []byte(c.Build))
		}
		if c.files[name], err = newFile(name, content[i]); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func newFile(name string, content []byte) (File, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return File{}, err
	}
	if _, err := w.Write(content); err != nil {
		return File{}, err
	}
	if err := w.Close(); err != nil {
		return File{}, err
	}
	return File{content, b.Bytes(), media[path.Ext(name)]}, nil
}

var media = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
	".txt":  "text/plain; charset=utf-8",
}

// File returns a file, or false if it does not exist.
func (c *Console) File(name string) (File, bool) {
	f, ok := c.files[name]
	return f, ok
}
