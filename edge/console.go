package edge

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"cairn/edge/console"
	"cairn/edge/describe"
	"cairn/schemas"
)

// consolePath is the path of the web console's page; its files are below consoleFiles.
const (
	consolePath  = "/"
	consoleFiles = "/console/"
)

// webConsole returns the files of the web console.
var webConsole = sync.OnceValues(console.Load)

// consolePage returns an action that serves the page of the web console to browsers. For
// other clients the path is unknown, as it is without the console.
func consolePage() action {
	return action{
		Spec: describe.Spec{
			Open: true, Media: "text/html", Invalid: schemas.ErrMalformed,
			Summary: "The web console as HTML, for requests that accept text/html; 404 for others",
		},
		answer: func(x *exchange) error {
			x.w.Header().Add("Vary", "Accept, Accept-Encoding")
			if !strings.Contains(strings.Join(x.r.Header["Accept"], ","), "text/html") {
				return unknownPath(consolePath)
			}
			return writeConsole(x, console.Index, "no-cache")
		},
	}
}

// consoleFile returns an action that serves a file of the web console.
func consoleFile() action {
	return action{
		Spec: describe.Spec{
			Open: true, Media: "application/octet-stream", Invalid: schemas.ErrMalformed,
			InURL: true, Request: reflect.TypeFor[schemas.ConsoleFile](), Summary: "A file of the web console",
		},
		answer: func(x *exchange) error {
			x.w.Header().Add("Vary", "Accept-Encoding")
			c, err := webConsole()
			if err != nil {
				return err
			}
			cache := "no-store" // of another version, during an upgrade
			if x.vars["build"] == c.Build {
				cache = "public, max-age=31536000, immutable"
			}
			return writeConsole(x, x.vars["file"], cache)
		},
	}
}

// writeConsole responds with a file of the web console.
func writeConsole(x *exchange, name, cache string) error {
	c, err := webConsole()
	if err != nil {
		return err
	}
	f, ok := c.File(name)
	if !ok {
		return schemas.ErrUnknownPath.Because(fmt.Sprintf("the web console has no file %.100q", name))
	}
	h := x.w.Header()
	h["Content-Security-Policy"] = []string{console.ContentSecurityPolicy}
	h["Referrer-Policy"] = []string{"no-referrer"}
	h["Cache-Control"] = []string{cache}
	body := f.Content
	if slices.ContainsFunc(x.r.Header["Accept-Encoding"],
		func(accepted string) bool { return strings.Contains(accepted, "gzip") }) {
		h["Content-Encoding"] = []string{"gzip"}
		body = f.Gzip
	}
	x.write(http.StatusOK, []string{f.Media}, body)
	return nil
}

// unknownPath returns the error for a path that no route has.
func unknownPath(path string) error {
	return schemas.ErrUnknownPath.Because(fmt.Sprintf("no route has the path %q; see GET /openapi.json", path))
}
