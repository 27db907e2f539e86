package index

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
)

// bulkSize is the number of documents per bulk request: 2 MB of vectors with 384
// dimensions, 10 MB of the widest.
const bulkSize = 256

// latest returns the highest revision of each document, in input order.
func latest(changes []Change) []Change {
	type key struct{ kind, tenant, id string }
	highest := map[key]int{}
	for i, c := range changes {
		k := key{c.Kind, c.Tenant, c.ID}
		if position, ok := highest[k]; !ok || changes[position].Revision < c.Revision {
			highest[k] = i
		}
	}
	var kept []Change
	for i, c := range changes {
		if highest[key{c.Kind, c.Tenant, c.ID}] == i {
			kept = append(kept, c)
		}
	}
	return kept
}

// item is the result of one operation.
type item struct {
	Status int     `json:"status"`
	Error  failure `json:"error"`
}

// checkItems returns an error for operations to retry and adds those that the
// server rejects to rejected. A version conflict is a success: a newer revision is
// already indexed.
func checkItems(ops []operation, items []item, rejected *Rejected) error {
	later, last := 0, item{}
	for i, it := range items {
		switch {
		case it.Status < http.StatusMultipleChoices && it.Status >= http.StatusOK, it.Status == http.StatusConflict:
		case it.Status == http.StatusBadRequest:
			rejected.add(ops[i].change, it.Error.String())
		case it.Status == http.StatusNotFound:
			return fmt.Errorf("%w: %s", ErrLost, it.Error)
		default:
			later, last = later+1, it
		}
	}
	if later > 0 {
		return fmt.Errorf("%w: %d of %d documents not written, the last with status %d: %s",
			ErrUnavailable, later, len(items), last.Status, last.Error)
	}
	return nil
}

// operation is a change in the form of the bulk API.
type operation struct {
	change Change
	lines  []byte // action and document
}

// encode returns the values as newline-delimited JSON.
func encode(values ...any) ([]byte, error) {
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	for _, v := range values {
		if err := encoder.Encode(v); err != nil {
			return nil, err
		}
	}
	return lines.Bytes(), nil
}
