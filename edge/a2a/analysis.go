package a2a

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"cairn/schemas"
	"cairn/schemas/member"
)

// optionsName is the member of the metadata with the options of an analysis.
const optionsName = "cairn"

// conversation returns the contextId of the message, or a new one. The id of a task contains
// it, so it must be a UUID.
func (m *message) conversation() (uuid.UUID, error) {
	given := m.Message.ContextID
	if given == "" {
		return uuid.New(), nil
	}
	id, err := uuid.Parse(given)
	if err != nil || id.String() != given {
		return id, invalid("message.contextId", fmt.Sprintf("expected a contextId of this agent, or a UUID in lower case, got %.100q", given))
	}
	return id, nil
}

// analysis returns the request for an analysis. A detached one continues when no client
// follows it, unless its options say otherwise.
func (m *message) analysis(detached bool) ([]byte, error) {
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
	if detached {
		defaults = append(defaults, member.Member{Name: "on_disconnect", Value: schemas.OnDisconnectContinue})
	}
	if body, err = member.Default(body, defaults...); err != nil {
		return nil, err
	}
	if body, err = member.Append(body, member.Member{Name: "query", Value: strings.Join(query, "\n")}); err != nil || estate == nil {
		return body, err
	}
	return member.Append(body, member.Member{Name: "context", Value: estate})
}

// options returns the options of the analysis: those of the message, or else of the request.
func (m *message) options() ([]byte, error) {
	for field, metadata := range map[string]jsontext.Value{"message.metadata": m.Message.Metadata, "metadata": m.Metadata} {
		if kind := metadata.Kind(); len(metadata) > 0 && kind != jsontext.KindBeginObject && kind != jsontext.KindNull {
			return nil, invalid(field, "expected an object")
		}
	}
	for _, metadata := range []jsontext.Value{m.Message.Metadata, m.Metadata} {
		var has map[string]jsontext.Value
		if len(metadata) == 0 || json.Unmarshal(metadata, &has) != nil || has[optionsName] == nil {
			continue
		}
		if has[optionsName].Kind() != jsontext.KindBeginObject {
			return nil, invalid("message.metadata."+optionsName, "expected an object")
		}
		return member.Without(has[optionsName], "context")
	}
	return []byte("{}"), nil
}

// include returns the events to send: the provenance, unless the client accepts no JSON.
func (m *message) include() []string {
	accepted := func(mode string) bool { return strings.Contains(mode, "json") || strings.HasSuffix(mode, "/*") }
	if m.Config != nil && len(m.Config.AcceptedOutputModes) > 0 && !slices.ContainsFunc(m.Config.AcceptedOutputModes, accepted) {
		return []string{schemas.EventUsage}
	}
	return []string{schemas.EventProvenance, schemas.EventUsage}
}

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

// named returns err with the fields of the message in place of those of an analysis.
func (m *message) named(err error) error {
	var e *schemas.Error
	if !errors.As(err, &e) || len(e.Fields) == 0 {
		return err
	}
	named := *e
	named.Fields = slices.Clone(e.Fields)
	for i, f := range named.Fields {
		switch {
		case f.Field == "query":
			named.Fields[i] = schemas.FieldError{Field: "message.parts", Message: "text: " + f.Message}
		case f.Field == "context" || strings.HasPrefix(f.Field, "context."):
			named.Fields[i] = schemas.FieldError{Field: "message.parts", Message: "data or file: " + f.Message}
		default:
			named.Fields[i].Field = "message.metadata." + optionsName + "." + f.Field
		}
	}
	return &named
}
