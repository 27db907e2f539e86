package a2a

import (
	"errors"
	"net/http"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/errordetails"

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

// codes are the codes of JSON-RPC and of the protocol (5.4) by the kind of error.
var codes = map[error]int{
	a2a.ErrParseError: -32700, a2a.ErrInvalidRequest: -32600, a2a.ErrMethodNotFound: -32601,
	a2a.ErrInvalidParams: -32602, a2a.ErrTaskNotFound: -32001, a2a.ErrTaskNotCancelable: -32002,
	a2a.ErrPushNotificationNotSupported: -32003, a2a.ErrUnsupportedOperation: -32004,
	a2a.ErrUnsupportedContentType: -32005, a2a.ErrVersionNotSupported: -32009,
	a2a.ErrUnauthenticated: -31401, a2a.ErrUnauthorized: -31403,
}

// codeOf returns the code of an error of the protocol; false: it is none.
func codeOf(err error) (int, bool) {
	for kind, code := range codes {
		if errors.Is(err, kind) {
			return code, true
		}
	}
	return -32603, errors.Is(err, a2a.ErrInternalError)
}

// rpcError is the error of a response.
type rpcError struct {
	Code    int                   `json:"code"`
	Message string                `json:"message"`
	Data    []*errordetails.Typed `json:"data"`
}

// newError returns the error of a response (9.5). Another error than one of the protocol becomes that of Cairn, with
// its invalid fields, its code in the documentation, and the id of the request in logs.
func newError(c Caller, err error) *rpcError {
	metadata := map[string]string{"timestamp": time.Now().UTC().Format(time.RFC3339)}
	var details []*errordetails.Typed
	if task, ok := errors.AsType[taskError](err); ok {
		metadata["taskId"] = task.id
	}
	if _, ok := codeOf(err); !ok {
		e := c.PublicError(err)
		metadata["code"], metadata["requestId"] = e.Code, e.RequestID
		var violations []map[string]string
		for _, f := range e.Fields {
			violations = append(violations, map[string]string{"field": f.Field, "description": f.Message})
		}
		if len(violations) > 0 {
			details = append(details, errordetails.NewTyped(badRequest, map[string]any{"fieldViolations": violations}))
		}
		err = a2a.NewError(kindOf(e), e.Error())
	}
	code, _ := codeOf(err)
	details = append(details, errordetails.NewErrorInfo(a2a.ErrorReason(err), a2a.ProtocolDomain, metadata))
	return &rpcError{code, err.Error(), details}
}

// taskError is an error about a task.
type taskError struct {
	error
	id string
}

func (e taskError) Unwrap() error { return e.error }

// notFound returns the error for a task that does not exist, has expired or belongs to another
// tenant.
func notFound(id string) error {
	const message = "task not found: it does not exist, or has ended more than 2 minutes ago"
	return taskError{a2a.NewError(a2a.ErrTaskNotFound, message), id}
}

// invalid returns the error for an invalid field of a request.
func invalid(field, message string) error {
	return schemas.ErrAnalysisMalformed.With(schemas.FieldError{Field: field, Message: message})
}
