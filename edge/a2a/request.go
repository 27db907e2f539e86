package a2a

import (
	"cmp"
	"context"
	"encoding/base64"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"cairn/schemas"
	"cairn/schemas/member"
)

const (
	// maxParameters bounds the parameters of a method without a message, in bytes.
	maxParameters = 16 << 10
	maxID         = 256 // of an id of the client, in bytes
	maxPageSize   = 100
)

// rpcRequest is a JSON-RPC request.
type rpcRequest struct {
	JSONRPC string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id,omitzero"`
	Method  string         `json:"method"`
	Params  jsontext.Value `json:"params,omitzero"`
}

// readRPC reads a request.
func readRPC(body []byte) (*rpcRequest, error) {
	r, err := schemas.Read[rpcRequest](body, schemas.ErrAnalysisMalformed)
	switch kind := r.ID.Kind(); {
	case err != nil && !jsontext.Value(body).IsValid():
		return &rpcRequest{}, fmt.Errorf("%w: %w", a2a.ErrParseError, err)
	case err != nil:
		return &rpcRequest{}, fmt.Errorf("%w: %w", a2a.ErrInvalidRequest, err)
	case len(r.ID) > maxID, len(r.ID) > 0 && kind != jsontext.KindString && kind != jsontext.KindNumber &&
		kind != jsontext.KindNull:
		return &rpcRequest{}, fmt.Errorf("%w: id: expected a string or a number of at most %d bytes", a2a.ErrInvalidRequest,
			maxID)
	case r.JSONRPC != "2.0":
		return &r, fmt.Errorf("%w: jsonrpc: expected 2.0, got %.100q", a2a.ErrInvalidRequest, r.JSONRPC)
	default:
		return &r, nil
	}
}

// parameters are the parameters of all methods without a message.
type parameters struct {
	Tenant               string `json:"tenant"`
	ID                   string `json:"id"`
	TaskID               string `json:"taskId"`
	ContextID            string `json:"contextId"`
	Status               string `json:"status"`
	PageSize             *int   `json:"pageSize"`
	PageToken            string `json:"pageToken"`
	HistoryLength        *int   `json:"historyLength"`
	StatusTimestampAfter string `json:"statusTimestampAfter"`
	IncludeArtifacts     bool   `json:"includeArtifacts"`
}

// readParameters reads the parameters of a method into req, a request of the SDK, and authorizes the tenant. As
// ProtoJSON requires, it accepts the names of the Protocol Buffers definition, such as history_length.
func readParameters(ctx context.Context, r *rpcRequest, req any) error {
	if len(r.Params) > maxParameters {
		return invalid("params", fmt.Sprintf("expected at most %d bytes", maxParameters))
	}
	given := map[string]jsontext.Value{}
	if len(r.Params) > 0 {
		var err error
		if given, err = schemas.Read[map[string]jsontext.Value](r.Params, schemas.ErrAnalysisMalformed); err != nil {
			return err
		}
	}
	named := make(map[string]jsontext.Value, len(given))
	for name, value := range given {
		named[camelCase(name)] = value
	}
	text, err := json.Marshal(named)
	if err != nil {
		return err
	}
	p, err := schemas.Read[parameters](text, schemas.ErrAnalysisMalformed)
	if err != nil {
		return err
	}
	if p.ID == "" && slices.Contains([]string{methodGet, methodCancel, methodSubscribe}, r.Method) {
		return invalid("id", "required, and must not be empty")
	}
	if err := cmp.Or(p.validate(), callerOf(ctx).AuthorizeTenant(p.Tenant)); err != nil {
		return err
	}
	return stdjson.Unmarshal(text, req)
}

// camelCase returns the JSON name of a field of Protocol Buffers.
func camelCase(name string) string {
	words := strings.Split(name, "_")
	for i, word := range words[1:] {
		if word != "" {
			words[i+1] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, "")
}

// states are the states of a task by which tasks can be listed.
var states = []a2a.TaskState{a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateCompleted, a2a.TaskStateFailed,
	a2a.TaskStateCanceled, a2a.TaskStateRejected, a2a.TaskStateInputRequired, a2a.TaskStateAuthRequired}

func (p *parameters) validate() error {
	switch {
	case len(p.ID) > maxID || len(p.TaskID) > maxID || len(p.ContextID) > maxID:
		return invalid("id", fmt.Sprintf("expected ids of at most %d bytes", maxID))
	case p.HistoryLength != nil && *p.HistoryLength < 0:
		return invalid("historyLength", fmt.Sprintf("expected 0 or more, got %d", *p.HistoryLength))
	case p.PageSize != nil && (*p.PageSize < 1 || *p.PageSize > maxPageSize):
		return invalid("pageSize", fmt.Sprintf("expected 1 to %d, got %d", maxPageSize, *p.PageSize))
	case p.Status != "" && p.Status != "TASK_STATE_UNSPECIFIED" && !slices.Contains(states, a2a.TaskState(p.Status)):
		return invalid("status", fmt.Sprintf("expected one of %v, got %.100q", states, p.Status))
	case p.StatusTimestampAfter == "":
		return nil
	}
	if _, err := time.Parse(time.RFC3339, p.StatusTimestampAfter); err != nil {
		return invalid("statusTimestampAfter",
			fmt.Sprintf("expected a time such as 2026-01-31T12:00:00Z, got %.100q", p.StatusTimestampAfter))
	}
	return nil
}

// message is a request to send a message. Unknown members are ignored.
type message schemas.AgentMessage

// readMessage reads and validates a request to send a message, and authorizes its tenant. It releases the parameters.
func readMessage(ctx context.Context, r *rpcRequest) (*schemas.AgentMessage, error) {
	m, err := schemas.Decode[schemas.AgentMessage](r.Params, schemas.ErrAnalysisMalformed)
	r.Params = nil
	if err != nil {
		return nil, err
	}
	return &m, cmp.Or((*message)(&m).negotiate(), callerOf(ctx).AuthorizeTenant(m.Tenant))
}

// negotiate returns an error of the protocol for media types and options that no agent of
// the handler supports.
func (m *message) negotiate() error {
	for i, p := range m.Message.Parts {
		if p.URL != nil {
			return a2a.NewError(a2a.ErrUnsupportedContentType,
				fmt.Sprintf("message.parts[%d].url: files are not fetched; expected text, data, or a file in raw", i))
		}
		if !isReadable(p.MediaType) {
			return a2a.NewError(a2a.ErrUnsupportedContentType,
				fmt.Sprintf("message.parts[%d].mediaType: expected text/plain, text/markdown or application/json, got %.100q", i,
					p.MediaType))
		}
	}
	if m.Config == nil {
		return nil
	}
	if len(m.Config.PushConfig) > 0 && m.Config.PushConfig.Kind() != jsontext.KindNull {
		return errPush
	}
	if modes := m.Config.AcceptedOutputModes; len(modes) > 0 && !slices.ContainsFunc(modes, isReadable) {
		return a2a.NewError(a2a.ErrUnsupportedContentType, fmt.Sprintf(
			"configuration.acceptedOutputModes: expected text/plain, text/markdown or application/json, got %.100q", modes))
	}
	return nil
}

// isReadable reports whether the agent card lists the media type; true for an empty one.
func isReadable(media string) bool {
	kind, _, _ := strings.Cut(strings.ToLower(media), ";")
	switch kind = strings.TrimSpace(kind); kind {
	case "", "*/*", "text", "text/*", mediaText, mediaMarkdown, mediaJSON, "application/*":
		return true
	}
	return strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")
}

// conversation returns the contextId of the message, or a new one. The id of a task contains
// it, so it must be a UUID.
func (m *message) conversation() (uuid.UUID, error) {
	given := m.Message.ContextID
	if given == "" {
		return uuid.New(), nil
	}
	id, err := uuid.Parse(given)
	if err != nil || id.String() != given {
		return id, invalid("message.contextId",
			fmt.Sprintf("expected a contextId of this agent, or a UUID in lower case, got %.100q", given))
	}
	return id, nil
}

// analysis returns the request for an analysis. With persist, it continues after the client
// disconnects, unless its options specify on_disconnect.
func (m *message) analysis(persist bool) ([]byte, error) {
	body, err := m.options()
	if err != nil {
		return nil, err
	}
	var query []string
	var estate jsontext.Value
	for i, p := range m.Message.Parts {
		switch {
		case p.Text != nil:
			query = append(query, *p.Text)
			continue
		case estate != nil:
			return nil, invalid(fmt.Sprintf("message.parts[%d]", i), "expected one part with data or a file: the estate")
		}
		if estate, err = estateOf(p); err != nil {
			return nil, invalid(fmt.Sprintf("message.parts[%d].raw", i), err.Error())
		}
	}
	defaults := []member.Member{{Name: "target", Value: schemas.TargetH}, {Name: "include", Value: m.include()}}
	if persist {
		defaults = append(defaults, member.Member{Name: "on_disconnect", Value: schemas.OnDisconnectContinue})
	}
	if body, err = member.Default(body, defaults...); err != nil {
		return nil, err
	}
	if body, err = member.Append(body, member.Member{Name: "query", Value: strings.Join(query, "\n")}); err != nil ||
		estate == nil {
		return body, err
	}
	return member.Append(body, member.Member{Name: "context", Value: estate})
}

// options returns the options of the analysis from the metadata of the message, or else of the request.
func (m *message) options() ([]byte, error) {
	for field, metadata := range map[string]jsontext.Value{"message.metadata": m.Message.Metadata,
		"metadata": m.Metadata} {
		if kind := metadata.Kind(); len(metadata) > 0 && kind != jsontext.KindBeginObject && kind != jsontext.KindNull {
			return nil, invalid(field, "expected an object")
		}
	}
	for _, metadata := range []jsontext.Value{m.Message.Metadata, m.Metadata} {
		var members map[string]jsontext.Value
		if len(metadata) == 0 || json.Unmarshal(metadata, &members) != nil || members[optionsName] == nil {
			continue
		}
		if members[optionsName].Kind() != jsontext.KindBeginObject {
			return nil, invalid("message.metadata."+optionsName, "expected an object")
		}
		return member.Without(members[optionsName], "context")
	}
	return []byte("{}"), nil
}

// include returns the events to send: the provenance, unless the client accepts no JSON.
func (m *message) include() []string {
	accepted := func(mode string) bool { return strings.Contains(mode, "json") || strings.HasSuffix(mode, "/*") }
	if m.Config != nil && len(m.Config.AcceptedOutputModes) > 0 &&
		!slices.ContainsFunc(m.Config.AcceptedOutputModes, accepted) {
		return []string{schemas.EventUsage}
	}
	return []string{schemas.EventProvenance, schemas.EventUsage}
}

// renameFields returns err with the field names of the message instead of those of an analysis.
func (m *message) renameFields(err error) error {
	var e *schemas.Error
	if !errors.As(err, &e) || len(e.Fields) == 0 {
		return err
	}
	return e.MapFields(func(f schemas.FieldError) schemas.FieldError {
		switch {
		case f.Field == "query":
			return schemas.FieldError{Field: "message.parts", Message: "text: " + f.Message}
		case f.Field == "context" || strings.HasPrefix(f.Field, "context."):
			return schemas.FieldError{Field: "message.parts", Message: "data or file: " + f.Message}
		default:
			return schemas.FieldError{Field: "message.metadata." + optionsName + "." + f.Field, Message: f.Message}
		}
	})
}

// optionsName is the member of the metadata with the options of an analysis.
const optionsName = "cairn"

// estateOf returns the JSON text of the part as a JSON string.
func estateOf(p schemas.AgentPart) (jsontext.Value, error) {
	if len(p.Data) > 0 {
		if p.Data.Kind() == jsontext.KindString { // the text of the estate
			return p.Data, nil
		}
		return jsontext.AppendQuote(nil, []byte(p.Data))
	}
	text, err := jsontext.AppendUnquote(nil, p.Raw)
	if err != nil {
		return nil, err
	}
	n, err := base64.StdEncoding.Decode(text, text)
	if err != nil {
		return nil, errors.New("expected base64 (RFC 4648, 4)")
	}
	if !jsontext.Value(text[:n]).IsValid() {
		return nil, errors.New("expected JSON in UTF-8")
	}
	return jsontext.AppendQuote(nil, text[:n])
}
