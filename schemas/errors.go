package schemas

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The errors that callers receive, in the order of the contracts' tables. Any
// other error is logged once and reported as ErrInternal.
var (
	ErrMalformed          = declare("CE-001", 400, "malformed request")
	ErrTooLarge           = declare("CE-002", 413, "body too large")
	ErrMethodNotAllowed   = declare("CE-003", 405, "method not allowed")
	ErrUnknownPath        = declare("CE-004", 404, "unknown path")
	ErrNotImplemented     = declare("CE-005", 501, "not implemented")
	ErrUnauthenticated    = declare("CE-006", 401, "not authenticated")
	ErrForbidden          = declare("CE-007", 403, "not allowed")
	ErrTooManyRequests    = declare("CE-008", 429, "too many requests")
	ErrMisdirected        = declare("CE-009", 421, "misdirected request")
	ErrInternal           = declare("CE-010", 500, "internal error")
	ErrUnavailable        = declare("CE-011", 503, "dependency unavailable")
	ErrTimeout            = declare("CE-012", 504, "timed out")
	ErrPreconditionFailed = declare("CE-013", 412, "precondition failed")
	ErrResponseTooLarge   = declare("CE-014", 413, "response too large")

	ErrTagExists              = declare("CE-021", 409, "a tag already exists for the request_id")
	ErrTagNotFound            = declare("CE-022", 404, "tag not found or expired")
	ErrSkillNotFound          = declare("CE-031", 404, "skill not found")
	ErrTemplateNotFound       = declare("CE-032", 404, "template not found")
	ErrAgentNotFound          = declare("CE-041", 404, "agent not found")
	ErrContextBuilderNotFound = declare("CE-051", 404, "context builder not found")
	ErrInvalidRegistration    = declare("CE-061", 400, "invalid registration request")
	ErrToolNotFound           = declare("CE-071", 404, "tool not found")
	ErrRecordNotFound         = declare("CE-081", 404, "record not found")
	ErrRecordReferenced       = declare("CE-082", 409, "other records link to the record")

	ErrAnalysisMalformed       = declare("AN-400", 400, "malformed analysis request")
	ErrAnalysisUnauthenticated = declare("AN-401", 401, "not authenticated")
	ErrAnalysisForbidden       = declare("AN-403", 403, "not allowed")
	ErrRunNotFound             = declare("AN-404", 404, "run not found")
	ErrRunStopped              = declare("AN-410", 410, "run stopped")
	ErrAnalysisTooLarge        = declare("AN-413", 413, "body too large")
	ErrAnalysisTooManyRequests = declare("AN-429", 429, "too many requests")
	ErrAnalysisInternal        = declare("AN-500", 500, "analysis failed")
	ErrAnalysisUnavailable     = declare("AN-503", 503, "dependency unavailable")
	ErrAnalysisTimeout         = declare("AN-504", 504, "analysis timed out")
)

// Error is the body of an error response: the members of RFC 9457 and extension
// members. errors.Is compares the codes alone, so that an error that was received
// over the network matches its declaration.
type Error struct {
	Type      string       `json:"type" doc:"URI reference of the documentation of the error"`
	Title     string       `json:"title" doc:"summary of the error code"`
	Status    int          `json:"status" doc:"the HTTP status"`
	Detail    string       `json:"detail,omitzero" doc:"explanation of this occurrence: the rejected or missing value, and the expected one"`
	Instance  string       `json:"instance,omitzero" doc:"path of the request"`
	Code      string       `json:"code" doc:"stable error code"`
	RequestID string       `json:"request_id,omitzero" doc:"id of the request in logs"`
	Fields    []FieldError `json:"errors,omitzero" doc:"invalid fields"`
	// Referrers are those that prevent a deletion.
	Referrers *ReferrerSummary `json:"referrers,omitzero" doc:"records that link to the record of a deletion"`
}

// FieldError describes one invalid field of a request.
type FieldError struct {
	Field   string `json:"field" doc:"path of the field, such as record.skill_id"`
	Message string `json:"message" doc:"problem and expected value"`
}

// String returns the field and the message.
func (f FieldError) String() string { return f.Field + ": " + f.Message }

var (
	declared = map[string]*Error{}
	table    []*Error
)

func declare(code string, status int, title string) *Error {
	e := &Error{Type: "/docs#" + code, Title: title, Status: status, Code: code}
	declared[code] = e
	table = append(table, e)
	return e
}

// Table returns all declared errors in the order of the contracts.
func Table() []*Error { return slices.Clone(table) }

// Declared returns the error with the code, or nil if there is none.
func Declared(code string) *Error { return declared[code] }

// Error returns the code and the message.
func (e *Error) Error() string { return e.Code + " " + e.Message() }

// Message returns the title, the detail and the fields on one line. It omits a
// detail that summarizes the fields.
func (e *Error) Message() string {
	parts := []string{e.Title}
	if e.Detail != "" && e.Detail != summary(e.Fields) {
		parts = append(parts, e.Detail)
	}
	fields := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		fields[i] = f.String()
	}
	if len(fields) > 0 {
		parts = append(parts, strings.Join(fields, "; "))
	}
	return strings.Join(parts, ": ")
}

// Is reports whether target is an Error with the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// maxDetail is the maximum length of a detail, in characters.
const maxDetail = 1000

// Because returns a copy of e with the detail, truncated to maxDetail characters of valid UTF-8.
func (e *Error) Because(detail string) *Error {
	c := *e
	c.Detail = truncate(detail, maxDetail)
	return &c
}

// With returns a copy of e with at most maxFieldErrors of the fields, each
// truncated. If e has no detail, that of the copy consists of the first field and the number of
// further ones.
func (e *Error) With(fields ...FieldError) *Error {
	c := *e
	c.Fields = slices.Clone(c.Fields)
	for _, f := range fields[:min(len(fields), maxFieldErrors)] {
		c.Fields = append(c.Fields, FieldError{Field: truncateValue(f.Field), Message: truncateValue(f.Message)})
	}
	if c.Detail == summary(e.Fields) {
		c.Detail = summary(c.Fields)
	}
	return &c
}

// MapFields returns a copy of e with the result of rename for each field. A detail that summarizes the
// fields is replaced by that of the new ones.
func (e *Error) MapFields(rename func(FieldError) FieldError) *Error {
	c := *e
	c.Fields = make([]FieldError, len(e.Fields))
	for i, f := range e.Fields {
		c.Fields[i] = rename(f)
	}
	if c.Detail == summary(e.Fields) {
		c.Detail = summary(c.Fields)
	}
	return &c
}

// summary returns the detail of an error with invalid fields; "" without fields.
func summary(fields []FieldError) string {
	switch rest := len(fields) - 1; rest {
	case -1:
		return ""
	case 0:
		return fields[0].String()
	case 1:
		return fields[0].String() + " (and 1 more field)"
	default:
		return fields[0].String() + " (and " + strconv.Itoa(rest) + " more fields)"
	}
}

// Analysis returns the AN- error with the same status, with the detail and fields
// of e. It returns a copy of e if there is no such error.
func (e *Error) Analysis() *Error {
	row := e
	for _, d := range declared {
		if d.Status == e.Status && strings.HasPrefix(d.Code, "AN-") {
			row = d
		}
	}
	c := *row
	c.Detail, c.Fields = e.Detail, e.Fields
	return &c
}

// ARD returns the error as the body of a response of the specification.
func (e *Error) ARD() ARDError {
	code, ok := ardCodes[e.Status]
	if !ok {
		code = "INTERNAL_ERROR"
	}
	return ARDError{*e, code, e.Message()}
}

// explain returns e with the field and the expected value of the decoding error.
func (e *Error) explain(err error) *Error {
	var cause *Error
	var semantic *json.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &cause):
		return cause
	case errors.As(err, &semantic):
		field := fieldOf(semantic.JSONPointer)
		message := fmt.Sprintf("expected %s, got %s", expectedType(semantic.GoType), kindName(semantic.JSONKind))
		if errors.Is(err, json.ErrUnknownName) {
			message = "unknown field"
		}
		return e.With(FieldError{Field: field, Message: message})
	case errors.As(err, &syntactic) && errors.Is(err, jsontext.ErrDuplicateName):
		return e.With(FieldError{Field: fieldOf(syntactic.JSONPointer), Message: "appears twice"})
	case errors.As(err, &syntactic) && errors.Is(err, errNesting):
		return e.With(FieldError{Field: fieldOf(syntactic.JSONPointer),
			Message: fmt.Sprintf("%v at byte %d", errNesting, syntactic.ByteOffset)})
	case errors.As(err, &syntactic):
		message := fmt.Sprintf("not valid JSON at byte %d: %s", syntactic.ByteOffset, unquoted(syntactic.Err))
		if syntactic.JSONPointer == "" {
			return e.Because(message)
		}
		return e.With(FieldError{Field: fieldOf(syntactic.JSONPointer), Message: message})
	default:
		return e.Because(truncateValue(err.Error()))
	}
}
