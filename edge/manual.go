package edge

import (
	"net/http"
	"reflect"

	"cairn/edge/describe"
	"cairn/edge/docs"
	"cairn/schemas"
)

var mediaHTML = []string{"text/html; charset=utf-8"}

// describing returns an action that answers with the description of the routes.
func describing(summary, media string, answer func(*exchange, describe.Description) error) action {
	return action{
		Spec: describe.Spec{Open: true, Summary: summary, Media: media, Invalid: schemas.ErrMalformed},
		answer: func(x *exchange) error {
			d, err := x.edge.describe()
			if err != nil {
				return err
			}
			return answer(x, d)
		},
	}
}

// document returns an action that serves a JSON document of the description.
func document(summary string, content func(describe.Description) []byte) action {
	return describing(summary, "application/json", func(x *exchange, d describe.Description) error {
		x.write(http.StatusOK, mediaJSON, content(d))
		return nil
	})
}

// manualPage returns an action that serves a page of the description.
func manualPage(summary string, page func(describe.Description) []byte) action {
	return describing(summary, "text/html", func(x *exchange, d describe.Description) error {
		return writeHTML(x, page(d))
	})
}

func readManual() action {
	a := describing("A page of the manual as HTML", "text/html", func(x *exchange, d describe.Description) error {
		page, ok := d.Manual.Page(x.vars["page"])
		if !ok {
			return schemas.ErrUnknownPath.Because("unknown page; see GET /docs")
		}
		return writeHTML(x, page)
	})
	a.InURL, a.Request = true, reflect.TypeFor[schemas.ManualPage]()
	return a
}

// manualImage returns an action that serves an image of the manual.
func manualImage() action {
	a := describing("An image of the manual", "image/png", func(x *exchange, d describe.Description) error {
		image, ok := d.Manual.Image(x.vars["image"])
		if !ok {
			return schemas.ErrUnknownPath.Because("image not found")
		}
		x.write(http.StatusOK, []string{"image/png"}, image)
		return nil
	})
	a.InURL, a.Request = true, reflect.TypeFor[schemas.ManualImage]()
	return a
}

func searchManual() action {
	const summary = "Sections of the manual that contain all words of a query, as HTML"
	a := describing(summary, "text/html", func(x *exchange, d describe.Description) error {
		if wrong := checkQuery(x.r.URL.RawQuery); wrong != nil {
			return schemas.ErrMalformed.With(wrong...)
		}
		page, err := d.Manual.Search(x.r.URL.Query().Get("q"))
		if err != nil {
			return err
		}
		return writeHTML(x, page)
	})
	a.InURL, a.Request = true, reflect.TypeFor[schemas.ManualSearch]()
	return a
}

func writeHTML(x *exchange, page []byte) error {
	x.w.Header().Set("Content-Security-Policy", docs.ContentSecurityPolicy)
	x.write(http.StatusOK, mediaHTML, page)
	return nil
}
