package a2a

import (
	"context"
	"errors"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"cairn/schemas"
)

// badRequest is the type of details with the invalid fields of a request (9.5).
const badRequest = "type.googleapis.com/google.rpc.BadRequest"

// kindOf returns the kind of error of the protocol.
func kindOf(e *schemas.Error) error {
	switch e.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		return a2a.ErrInvalidParams
	case http.StatusUnauthorized:
		return a2a.ErrUnauthenticated
	case http.StatusForbidden:
		return a2a.ErrUnauthorized
	case http.StatusNotFound:
		return a2a.ErrTaskNotFound
	default:
		return a2a.ErrInternalError
	}
}

func violations(e *schemas.Error) []map[string]string {
	var list []map[string]string
	for _, f := range e.Fields {
		list = append(list, map[string]string{"field": f.Field, "description": f.Message})
	}
	return list
}

// metadata identifies the error in the documentation, and the request in logs.
func metadata(e *schemas.Error) map[string]string {
	return map[string]string{"code": e.Code, "requestId": e.RequestID}
}

// notFound returns the error for a task that does not exist, has expired or belongs to another
// tenant.
func notFound(id string) error {
	return a2a.NewError(a2a.ErrTaskNotFound, "task not found: it does not exist, or has ended more than 2 minutes ago").
		WithErrorInfoMeta(map[string]string{"taskId": id})
}

// invalid returns the error for an invalid field of a request.
func invalid(field, message string) error {
	return schemas.ErrAnalysisMalformed.With(schemas.FieldError{Field: field, Message: message})
}

// canceled reports whether the request was canceled.
func canceled(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, context.Canceled)
}
