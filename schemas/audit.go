package schemas

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxMessage is the maximum length of the message of a change, in bytes.
const MaxMessage = 1 << 10

// Author is who made a change, and why.
type Author struct {
	Actor     string `json:"actor,omitzero" doc:"id of the API key, sub of the token, or NATS user of a request without one; absent without authentication"`
	ActorType string `json:"actor_type,omitzero" doc:"key, token or nats: what the actor is; absent without one, and in changes of earlier versions"`
	Message   string `json:"message,omitzero" doc:"Cairn-Message of the request"`
}

// Types of actors.
const (
	ActorKey   = "key"
	ActorToken = "token"
	ActorNATS  = "nats"
)

// Origin is the request that made a change.
type Origin struct {
	Author
	RequestID string `json:"request_id,omitzero"`
	Route     string `json:"route,omitzero" doc:"NATS subject of the request, or command of an operator"`
}

// Actions of the audit log.
const (
	ActionRegister    = "register"
	ActionReplace     = "replace"
	ActionDelete      = "delete"
	ActionPromote     = "promote"
	ActionDeleteAlias = "delete_alias"
	ActionReindex     = "reindex"
	ActionCreateKey   = "create_key"
	ActionRevokeKey   = "revoke_key"
	ActionRestore     = "restore"
)

// Actions returns all actions of the audit log.
func Actions() []string {
	return []string{ActionRegister, ActionReplace, ActionDelete, ActionPromote, ActionDeleteAlias, ActionReindex,
		ActionCreateKey, ActionRevokeKey, ActionRestore}
}

// KindKey is the kind of an entry of the audit log about an API key.
const KindKey = "key"

// AuditEntry is a change in the audit log.
type AuditEntry struct {
	Time     string `json:"time" doc:"RFC 3339"`
	Action   string `json:"action" doc:"register, replace, delete, promote, delete_alias, reindex, create_key, revoke_key or restore"`
	TenantID string `json:"tenant_id,omitzero" doc:"tenant of the record or key, which has an entry for each of its tenants; absent: global, or a key for all"`
	Kind     string `json:"kind,omitzero" doc:"kind of the record, or key; absent: none"`
	ID       string `json:"id,omitzero" doc:"of the record or key"`
	Alias    string `json:"alias,omitzero" doc:"name of the alias of the record that was written or deleted; absent: none"`
	Revision string `json:"revision,omitzero" doc:"consistency token of the write, as in Cairn-Revision"`
	Origin
}

// AuditQuery requests a page of the audit log, the latest entry first.
type AuditQuery struct {
	TenantID *string `json:"tenant_id,omitzero" doc:"only entries of this tenant; absent: of every tenant and the global scope, which requires the role admin for all tenants"`
	Kind     string  `json:"kind,omitzero" doc:"only entries of this kind"`
	ID       string  `json:"id,omitzero" doc:"only entries of this id"`
	Actor    string  `json:"actor,omitzero" doc:"only entries of this actor"`
	Action   string  `json:"action,omitzero" doc:"only entries of this action"`
	Since    string  `json:"since,omitzero" doc:"only entries at or after this time, RFC 3339"`
	Until    string  `json:"until,omitzero" doc:"only entries before this time, RFC 3339"`
	Limit    *int    `json:"limit,omitzero" doc:"page length, 1 to 1000; 100 by default"`
	Cursor   string  `json:"cursor,omitzero" doc:"next_cursor of the previous page"`
}

func (q *AuditQuery) tenantField() tenantField { return tenantField{"tenant_id", &q.TenantID, nil} }

// AuditList is a page of the audit log.
type AuditList struct {
	Entries    []AuditEntry `json:"entries" doc:"the latest first; a page of a filtered log may be shorter than the limit, or empty"`
	NextCursor *string      `json:"next_cursor" doc:"null on the last page"`
}

// CheckMessage returns an error if the text is not a message of a change.
func CheckMessage(text string) error {
	switch {
	case len(text) > MaxMessage:
		return fmt.Errorf("expected at most %d bytes, got %d", MaxMessage, len(text))
	case !utf8.ValidString(text):
		return errors.New("expected UTF-8")
	case strings.ContainsFunc(text, unicode.IsControl):
		return errors.New("expected one line without control characters")
	}
	return nil
}
