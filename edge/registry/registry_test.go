package registry_test

import (
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"cairn/edge/registry"
	"cairn/schemas"
)

const (
	weather = `{"name":"io.github.user/weather","description":"d","version":"1.0.2","remotes":[{"type":"sse","url":"https://x"}]}`
	active  = `{"tool_id":"io.github.user.weather.@server","server_json":` + weather + `}`
)

func entry(status string) schemas.ServerEntry {
	e := schemas.ServerEntry{Server: jsontext.Value(weather)}
	e.Meta.Official = schemas.ServerStatus{Status: status, IsLatest: true}
	return e
}

func TestPage(t *testing.T) {
	t.Parallel()
	next := "c"
	tools := schemas.ToolList{NextCursor: &next, Tools: []jsontext.Value{
		jsontext.Value(active),
		jsontext.Value(`{"tool_id":"a.b.c","status":"deprecated","server_json":` + weather + `}`),
		jsontext.Value(`{"tool_id":"a.b.without","tool_class":"mcp_server"}`),
		jsontext.Value(`{"tool_id":"a.b.text","server_json":"text"}`),
		jsontext.Value(`{"tool_id":"a.b.nameless","server_json":{"version":"1"}}`),
	}}
	want := schemas.ServerList{
		Servers:  []schemas.ServerEntry{entry("active"), entry("deprecated")},
		Metadata: schemas.ServerPage{Count: 2, NextCursor: &next},
	}
	got, err := registry.Page(schemas.ServerQuery{}, tools)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	tools := schemas.ToolList{Tools: []jsontext.Value{jsontext.Value(active)}}
	ref := schemas.ServerRef{Server: "io.github.user/weather"}
	if got, err := registry.Versions(ref, tools); err != nil || len(got.Servers) != 1 || got.Metadata.Count != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := registry.Versions(ref, schemas.ToolList{}); !errors.Is(err, schemas.ErrToolNotFound) {
		t.Errorf("no server: %v", err)
	}
	for version, found := range map[string]bool{"latest": true, "1.0.2": true, "1.0.1": false, "": false} {
		got, err := registry.Version(schemas.ServerVersion{ServerRef: ref, Version: version}, tools)
		if diff := cmp.Diff(entry("active"), got); found && (err != nil || diff != "") {
			t.Errorf("version %q: %v (-want +got):\n%s", version, err, diff)
		}
		if !found && !errors.Is(err, schemas.ErrToolNotFound) {
			t.Errorf("version %q: %+v, %v", version, got, err)
		}
	}
}
