package describe

import (
	"bytes"
	"html/template"

	"cairn/bus"
	"cairn/edge/docs"
	"cairn/schemas"
)

// Description is the documents and the manual. It does not change and may be used concurrently.
type Description struct {
	OpenAPI   []byte
	AsyncAPI  []byte
	Manual    *docs.Manual
	Index     []byte // HTML of the contents of the manual and the error codes
	Reference []byte // HTML of the HTTP reference
}

// New returns the description of the specs; secured: clients need a credential.
func New(specs []Spec, secured bool) (Description, error) {
	types := schemas.NewDefinitions("#/components/schemas/")
	var d Description
	var err error
	if d.OpenAPI, err = document(specs, types, secured); err != nil {
		return d, err
	}
	if d.AsyncAPI, err = asyncDocument(); err != nil {
		return d, err
	}
	if d.Manual, err = docs.New(bus.Version, docs.Entry{Name: "reference", Title: "HTTP reference"}); err != nil {
		return d, err
	}
	body, err := reference(specs, types, secured)
	if err != nil {
		return d, err
	}
	if d.Reference, err = d.Manual.Layout("reference", "HTTP reference", body); err != nil {
		return d, err
	}
	d.Index, err = manualIndex(d.Manual)
	return d, err
}

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
