package edge

import (
	"bytes"
	"html/template"
	"net/http"
	"reflect"

	"cairn/edge/docs"
	"cairn/schemas"
)

var mediaHTML = []string{"text/html; charset=utf-8"}

var indexTemplate = template.Must(template.New("index").Parse(`<h1>Cairn manual</h1>
<p>Cairn stores the records that AI agents need at run time and answers questions about infrastructure estates.</p>
<ul>{{range .Contents}}<li><a href="/docs/{{.Name}}">{{.Title}}</a></li>
{{end}}</ul>
<h2 id="errors">Error codes</h2>
<table><tr><th>code</th><th>status</th><th>title</th></tr>
{{range .Errors}}<tr id="{{.Code}}"><td><a href="/docs/errors#{{.Code}}">{{.Code}}</a></td><td>{{.Status}}</td><td>{{.Title}}</td></tr>
{{end}}</table>
`))

// manualIndex returns the page that the type URL of every error refers to.
func manualIndex(m *docs.Manual) ([]byte, error) {
	var b bytes.Buffer
	if err := indexTemplate.Execute(&b, object{"Contents": m.Contents(), "Errors": schemas.Table()}); err != nil {
		return nil, err
	}
	return m.Layout("", "Manual", template.HTML(b.String())) // escaped by the template
}

// manualPage returns an action that serves a page of the description.
func manualPage(page func(description) []byte) action {
	return describing("text/html", func(x *exchange, d description) error { return writeHTML(x, page(d)) })
}

func readManual() action {
	a := describing("text/html", func(x *exchange, d description) error {
		page, ok := d.manual.Page(x.vars["page"])
		if !ok {
			return schemas.ErrUnknownPath.Because("unknown page; see GET /docs")
		}
		return writeHTML(x, page)
	})
	a.inURL, a.request = true, reflect.TypeFor[schemas.ManualPage]()
	return a
}

// manualImage returns an action that serves an image of the manual.
func manualImage() action {
	a := describing("image/png", func(x *exchange, d description) error {
		image, ok := d.manual.Image(x.vars["image"])
		if !ok {
			return schemas.ErrUnknownPath.Because("image not found")
		}
		x.write(http.StatusOK, []string{"image/png"}, image)
		return nil
	})
	a.inURL, a.request = true, reflect.TypeFor[schemas.ManualImage]()
	return a
}

func searchManual() action {
	a := describing("text/html", func(x *exchange, d description) error {
		if wrong := checkQuery(x.r.URL.RawQuery); wrong != nil {
			return schemas.ErrMalformed.With(wrong...)
		}
		page, err := d.manual.Search(x.r.URL.Query().Get("q"))
		if err != nil {
			return err
		}
		return writeHTML(x, page)
	})
	a.inURL, a.request = true, reflect.TypeFor[schemas.ManualSearch]()
	return a
}

func writeHTML(x *exchange, page []byte) error {
	x.w.Header().Set("Content-Security-Policy", docs.ContentSecurityPolicy)
	x.write(http.StatusOK, mediaHTML, page)
	return nil
}
