package schemas

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas/member"
)

// NormalizeRecord returns a stored record of the kind as its registration would store it now:
// without interpreted fields that are null, except tenant_id, and without null elements of
// their arrays and maps, which a registration rejects. Unknown fields keep their nulls. A
// record that cannot be normalized is returned as it is.
func NormalizeRecord(kind string, record []byte) []byte {
	t := recordTypes[kind]
	if t == nil || !hasNull(record) {
		return record
	}
	normalized, err := nulls{drop: true}.value(t, record, "")
	if err != nil {
		return record
	}
	return normalized
}

func hasNull(text []byte) bool { return bytes.Contains(text, []byte("null")) }

// nulls removes the null members that a type interprets.
type nulls struct {
	drop bool // remove null elements of arrays and maps too, instead of an error
}

// value returns the value of type t without nulls. Its error is a [json.SemanticError] with
// the path of a null element below pointer.
func (n nulls) value(t reflect.Type, v jsontext.Value, pointer jsontext.Pointer) (jsontext.Value, error) {
	switch {
	case !hasNull(v):
		return v, nil
	case t.Kind() == reflect.Struct && v.Kind() == jsontext.KindBeginObject:
		return n.object(t, v, pointer)
	case t.Kind() == reflect.Slice && v.Kind() == jsontext.KindBeginArray:
		return n.array(t.Elem(), v, pointer)
	case t.Kind() == reflect.Map && v.Kind() == jsontext.KindBeginObject:
		return n.mapping(t.Elem(), v, pointer)
	default:
		return v, nil
	}
}

func (n nulls) object(t reflect.Type, v jsontext.Value, pointer jsontext.Pointer) (jsontext.Value, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(v, &members, decodeOptions); err != nil {
		return nil, err
	}
	var null []string
	for _, f := range fieldsOf(t) {
		name := jsonName(f)
		given := members[name]
		switch {
		case given == nil, name == "tenant_id":
			continue
		case given.Kind() == jsontext.KindNull:
			null = append(null, name)
			continue
		}
		value, err := n.value(f.Type, given, pointer.AppendToken(name))
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(value, given) {
			if v, err = member.Append(v, member.Member{Name: name, Value: value}); err != nil {
				return nil, err
			}
		}
	}
	if len(null) == 0 {
		return v, nil
	}
	return member.Without(v, null...)
}

func (n nulls) array(t reflect.Type, v jsontext.Value, pointer jsontext.Pointer) (jsontext.Value, error) {
	var list []jsontext.Value
	if err := json.Unmarshal(v, &list, decodeOptions); err != nil {
		return nil, err
	}
	kept := make([]jsontext.Value, 0, len(list))
	for i, element := range list {
		here := pointer.AppendToken(strconv.Itoa(i))
		if element.Kind() == jsontext.KindNull {
			if !n.drop {
				return nil, nullAt(t, here)
			}
			continue
		}
		element, err := n.value(t, element, here)
		if err != nil {
			return nil, err
		}
		kept = append(kept, element)
	}
	return json.Marshal(kept)
}

func (n nulls) mapping(t reflect.Type, v jsontext.Value, pointer jsontext.Pointer) (jsontext.Value, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(v, &members, decodeOptions); err != nil {
		return nil, err
	}
	var null []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if members[name].Kind() == jsontext.KindNull {
			null = append(null, name)
		}
	}
	if len(null) > 0 && !n.drop {
		return nil, nullAt(t, pointer.AppendToken(null[0]))
	}
	return member.Without(v, null...)
}

func nullAt(t reflect.Type, pointer jsontext.Pointer) error {
	return &json.SemanticError{JSONPointer: pointer, JSONKind: jsontext.KindNull, GoType: t}
}
