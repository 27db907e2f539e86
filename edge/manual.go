package edge

import (
	"net/http"
	"reflect"

	"cairn/edge/describe"
	"cairn/edge/docs"
	"cairn/schemas"
)

// describing returns an action that answers with content of the description of the routes.
func describing(summary, media string, content func(*exchange, describe.Description) ([]byte, error)) action {
	return action{
		Spec: describe.Spec{Open: true, Summary: summary, Media: media, Invalid: schemas.ErrMalformed},
		answer: func(x *exchange) error {
			d, err := x.edge.describe()
			if err != nil {
				return err
			}
			body, err := content(x, d)
			if err != nil {
				return err
			}
			contentType := media
			if media == mediaHTML {
				x.w.Header().Set("Content-Security-Policy", docs.ContentSecurityPolicy)
				contentType += "; charset=utf-8"
			}
			x.write(http.StatusOK, []string{contentType}, body)
			return nil
		},
	}
}

const mediaHTML = "text/html"

// document returns an action that serves a document of the description.
func document(summary, media string, content func(describe.Description) []byte) action {
	return describing(summary, media, func(_ *exchange, d describe.Description) ([]byte, error) { return content(d), nil })
}

func readManual() action {
	a := describing("A page of the manual as HTML", mediaHTML, func(x *exchange, d describe.Description) ([]byte, error) {
		page, ok := d.Manual.Page(x.vars["page"])
		if !ok {
			return nil, schemas.ErrUnknownPath.Because("unknown page; see GET /docs")
		}
		return page, nil
	})
	a.InURL, a.Request = true, reflect.TypeFor[schemas.ManualPage]()
	return a
}

// manualImage returns an action that serves an image of the manual.
func manualImage() action {
	a := describing("An image of the manual", "image/png", func(x *exchange, d describe.Description) ([]byte, error) {
		image, ok := d.Manual.Image(x.vars["image"])
		if !ok {
			return nil, schemas.ErrUnknownPath.Because("image not found")
		}
		return image, nil
	})
	a.InURL, a.Request = true, reflect.TypeFor[schemas.ManualImage]()
	return a
}

func searchManual() action {
	const summary = "Sections of the manual that contain all words of a query, as HTML"
	a := describing(summary, mediaHTML, func(x *exchange, d describe.Description) ([]byte, error) {
		if wrong := checkQuery(x.r.URL.RawQuery); wrong != nil {
			return nil, schemas.ErrMalformed.With(wrong...)
		}
		return d.Manual.Search(x.r.URL.Query().Get("q"))
	})
	a.InURL, a.Request = true, reflect.TypeFor[schemas.ManualSearch]()
	return a
}
