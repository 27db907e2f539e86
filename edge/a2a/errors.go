package a2a

import (
	"context"
	"errors"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/errordetails"
	"github.com/go-json-experiment/json"

	"cairn/schemas"
)

// badRequest is the type of details with the invalid fields of a request (9.5, 11.6).
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

// Status returns the body of a response of the HTTP+JSON binding for an error outside the
// protocol, such as 401 or 503 (11.6).
func Status(e *schemas.Error) ([]byte, error) {
	var details []*errordetails.Typed
	if len(e.Fields) > 0 {
		details = append(details, errordetails.NewTyped(badRequest, map[string]any{"fieldViolations": violations(e)}))
	}
	return statusBody(e.Status, e.Error(), append(details, errordetails.NewErrorInfo(a2a.ErrorReason(kindOf(e)), a2a.ProtocolDomain,
		metadata(e)))...)
}

func statusBody(status int, message string, details ...*errordetails.Typed) ([]byte, error) {
	return json.Marshal(map[string]any{"error": map[string]any{
		"code": status, "status": statusName(status), "message": message, "details": details,
	}}, json.Deterministic(true))
}

// rejectMedia rejects a body that is not JSON with 415, as HTTP (RFC 9110, 15.5.16) and version
// 1.0.0 of the protocol specify. Version 1.0.1 specifies 400.
func rejectMedia(w http.ResponseWriter, err error) error {
	body, errBody := statusBody(http.StatusUnsupportedMediaType, err.Error(),
		errordetails.NewErrorInfo(a2a.ErrorReason(err), a2a.ProtocolDomain, nil))
	if errBody != nil {
		return errBody
	}
	w.Header().Set("Content-Type", mediaJSON)
	w.WriteHeader(http.StatusUnsupportedMediaType)
	_, _ = w.Write(body) // fails when the client has disconnected
	return nil
}

// statusName returns the name of the code of google.rpc for an HTTP status.
func statusName(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusForbidden:
		return "PERMISSION_DENIED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	case http.StatusServiceUnavailable:
		return "UNAVAILABLE"
	case http.StatusGatewayTimeout:
		return "DEADLINE_EXCEEDED"
	}
	if status < http.StatusInternalServerError {
		return "INVALID_ARGUMENT"
	}
	return "INTERNAL"
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
