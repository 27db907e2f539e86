package main

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/deploy/internal/records"
	"cairn/schemas"
)

// corpus reads the skills of a file or folder and assigns them to the tenant.
func (e *eval) corpus(file string) ([]records.Record, error) {
	all, err := records.ReadAll([]string{file}, nil)
	if err != nil {
		return nil, err
	}
	var list []records.Record
	for _, f := range all {
		f.Text = foreign(f.Text)
		r := f.Record(e.tenant)
		if err := r.Fault(); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Source, err)
		}
		if r.Kind == schemas.KindSkill {
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: contains no skills", file)
	}
	return list, nil
}

// foreign returns the record without its tenant.
func foreign(text jsontext.Value) jsontext.Value {
	var o map[string]jsontext.Value
	if json.Unmarshal(text, &o) != nil || o["tenant_id"] == nil {
		return text // rejected as a record
	}
	delete(o, "tenant_id")
	text, _ = json.Marshal(o, json.Deterministic(true)) // cannot fail: o was unmarshaled from JSON
	return text
}
