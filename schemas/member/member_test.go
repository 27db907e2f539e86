package member_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"cairn/schemas/member"
)

// functions are the edits of a member "a" of value 7.
var functions = map[string]func([]byte) ([]byte, error){
	"append":  func(object []byte) ([]byte, error) { return member.Append(object, seven) },
	"prepend": func(object []byte) ([]byte, error) { return member.Prepend(object, seven) },
	"default": func(object []byte) ([]byte, error) { return member.Default(object, seven) },
}

var seven = member.Member{Name: "a", Value: 7}

func TestMembers(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, object, appended, prepended, defaulted string }{
		{"no members", ` { } `, `{"a":7}`, `{"a":7}`, `{"a":7}`},
		{"other members", `{"x":1,"y":{"z":[]}}`, `{"x":1,"y":{"z":[]},"a":7}`, `{"a":7,"x":1,"y":{"z":[]}}`,
			`{"a":7,"x":1,"y":{"z":[]}}`},
		{"one of the name", `{"x":1,"a":2,"y":3}`, `{"x":1,"y":3,"a":7}`, `{"a":7,"x":1,"y":3}`, `{"x":1,"a":2,"y":3}`},
		{"one of the name that is null", `{"x":1,"a":null}`, `{"x":1,"a":7}`, `{"a":7,"x":1}`, `{"a":7,"x":1}`},
		{"one of the name, escaped", `{"\u0061":2,"x":1}`, `{"x":1,"a":7}`, `{"a":7,"x":1}`, `{"\u0061":2,"x":1}`},
		{"the name elsewhere", `{"x":{"a":null}}`, `{"x":{"a":null},"a":7}`, `{"a":7,"x":{"a":null}}`,
			`{"a":7,"x":{"a":null}}`},
		{"text is unchanged", `{"\u00e9":"\u0041\/","n":[1e400,-0,1.50]}`, `{"\u00e9":"\u0041\/","n":[1e400,-0,1.50],"a":7}`,
			`{"a":7,"\u00e9":"\u0041\/","n":[1e400,-0,1.50]}`, `{"a":7,"\u00e9":"\u0041\/","n":[1e400,-0,1.50]}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			for name, want := range map[string]string{"append": row.appended, "prepend": row.prepended,
				"default": row.defaulted} {
				got, err := functions[name]([]byte(row.object))
				if err != nil || string(got) != want {
					t.Errorf("%s: got %s, %v, want %s", name, got, err, want)
				}
			}
		})
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, object, want string }{
		{"no members", ` { } `, ` { } `},
		{"no such member", `{"x":{"a":1}}`, `{"x":{"a":1}}`},
		{"the only one", ` {"a":1} `, ` {} `},
		{"the first one", `{"a" : {"x":1} , "x":1}`, `{ "x":1}`},
		{"between others", `{"x":1, "\u0061":[1,2], "y":2}`, `{"x":1, "y":2}`},
		{"the last one", `{"x":1,"a":"," }`, `{"x":1 }`},
	} {
		start, end, err := member.Span([]byte(row.object), "a")
		if got := row.object[:start] + row.object[end:]; got != row.want || err != nil {
			t.Errorf("%s: got %s, %v, want %s", row.name, got, err, row.want)
		}
	}
}

func TestSeveralDefaults(t *testing.T) {
	t.Parallel()
	got, err := member.Default([]byte(`{"b":null,"x":1,"c":3}`),
		member.Member{Name: "a", Value: ""}, member.Member{Name: "b", Value: []string{}}, member.Member{Name: "c", Value: ""})
	if want := `{"a":"","b":[],"x":1,"c":3}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestInvalidObject(t *testing.T) {
	t.Parallel()
	for name, f := range functions {
		for _, object := range []string{`{"a":`, `{"a" 1}`, `{"\ud800":1}`} {
			if got, err := f([]byte(object)); err == nil {
				t.Errorf("%s to %s: got %s, want an error", name, object, got)
			}
		}
	}
	if got, err := member.Append([]byte(`{}`), member.Member{Name: "a", Value: jsontext.Value(`{`)}); err == nil {
		t.Errorf("an invalid value: got %s, want an error", got)
	}
}

// FuzzMembers edits arbitrary objects: other members keep their order and values.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{` { } `, `{"a":null,"b":[1e400,{"a":"\u0000"}]}`, "{\"\\u0061\":\"é\",\n\"x\": 1}",
		`{"x":1,"x":2}`, `{"":{}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, object []byte) {
		if jsontext.Value(object).Kind() != jsontext.KindBeginObject || !jsontext.Value(object).IsValid() {
			return // not an object
		}
		text := string(object)
		for name, edit := range functions {
			got, err := edit(object)
			if err != nil {
				t.Fatalf("%s to %s: %v", name, object, err)
			}
			if string(object) != text {
				t.Fatalf("%s: %s was modified to %s", name, text, object)
			}
			edited, before := members(t, got), members(t, object)
			value, index := without(&edited)
			old, _ := without(&before)
			if diff := cmp.Diff(before, edited); diff != "" {
				t.Errorf("%s to %s: got %s (-want +got):\n%s", name, object, got, diff)
			}
			defaulted := name == "default" && old != "" && old != "null"
			want := map[string]int{"append": len(edited), "prepend": 0, "default": 0}[name]
			if defaulted && value != old || !defaulted && (value != "7" || index != want) {
				t.Errorf("%s to %s: got %s", name, object, got)
			}
		}
		start, end, err := member.Span(object, "a")
		if err != nil {
			t.Fatalf("%s: %v", object, err)
		}
		want := members(t, object)
		without(&want)
		if diff := cmp.Diff(want, members(t, []byte(text[:start]+text[end:]))); diff != "" {
			t.Errorf("%s without its span: (-want +got):\n%s", object, diff)
		}
	})
}

// members returns the members of the object in their order, without white space.
func members(t *testing.T, object []byte) []member.Member {
	t.Helper()
	all := []member.Member{}
	decoder := jsontext.NewDecoder(strings.NewReader(string(object)))
	if _, err := decoder.ReadToken(); err != nil {
		t.Fatalf("%s: %v", object, err)
	}
	for decoder.PeekKind() == jsontext.KindString {
		var name string
		if err := json.UnmarshalDecode(decoder, &name); err != nil {
			t.Fatalf("%s: %v", object, err)
		}
		value, err := decoder.ReadValue()
		if err != nil {
			t.Fatalf("%s: %v", object, err)
		}
		value = value.Clone()
		if err := value.Compact(jsontext.PreserveRawStrings(true)); err != nil {
			t.Fatalf("%s: %v", object, err)
		}
		all = append(all, member.Member{Name: name, Value: string(value)})
	}
	return all
}

// without removes the member "a" and returns its value and position.
func without(all *[]member.Member) (value string, index int) {
	for i, m := range *all {
		if m.Name == "a" {
			*all = append((*all)[:i:i], (*all)[i+1:]...)
			return m.Value.(string), i
		}
	}
	return "", -1
}

func BenchmarkPrepend(b *testing.B) {
	for name, text := range map[string]string{"copied": "Audits a network.", "decoded": `Audits \"a\" network.`} {
		b.Run(name, func(b *testing.B) {
			object := []byte(`{"skill_id":"net.audit","description":"` + strings.Repeat(text, 60) +
				`","capabilities":["x","y"]}`)
			score := member.Member{Name: "score", Value: jsontext.Value("0.875")}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := member.Prepend(object, score); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
