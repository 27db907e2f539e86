package index

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/elastic/go-elasticsearch/v8/esapi"
)

// generation is a plan come true: its indices are on the server.
type generation struct {
	*plan
	name string
}

// Generation is described at Migrator.
func (e *elastic) Generation(ctx context.Context) (string, error) {
	space, err := e.space(ctx)
	if err != nil {
		return "", fmt.Errorf("generation of the index: %w", err)
	}
	g, err := e.generate(ctx, e.planFor(space))
	if err != nil {
		return "", fmt.Errorf("generation of the index: %w", err)
	}
	return g.name, nil
}

// current returns what documents of the plan are written to. Many may ask at
// once: what one of them makes, the others find.
func (e *elastic) current(ctx context.Context, p *plan) (*generation, error) {
	if g := e.filled.Load(); g != nil && g.plan == p {
		return g, nil
	}
	return e.generate(ctx, p)
}

func (e *elastic) generate(ctx context.Context, p *plan) (*generation, error) {
	there, err := e.look(ctx)
	if err != nil {
		return nil, err
	}
	missing := there.missing(p)
	for _, kind := range missing {
		if err := e.create(ctx, p, kind); err != nil {
			return nil, err
		}
	}
	if len(missing) > 0 {
		if there, err = e.look(ctx); err != nil {
			return nil, err
		}
	}
	if there.live(p.settings) == "" {
		if err := e.point(ctx, p, there); err != nil {
			return nil, err
		}
	}
	g := &generation{p, there.name(p)}
	e.filled.Store(g)
	return g, nil
}

// create makes the index of a kind. Another worker may have been faster.
func (e *elastic) create(ctx context.Context, p *plan, kind string) error {
	body := object{"aliases": object{p.entrance(kind): object{}}}
	if err := json.Unmarshal(p.body, &body); err != nil {
		return err
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req := esapi.IndicesCreateRequest{Index: p.index(kind), Body: bytes.NewReader(text)}
	err = e.link.call(ctx, adminTime, req, &struct{}{})
	var status *statusError
	if errors.As(err, &status) && status.Type == "resource_already_exists_exception" {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create index %s: %w", p.index(kind), err)
	}
	return nil
}

// indices are those on the server whose names are ours, by name.
type indices map[string]struct {
	Aliases  map[string]struct{} `json:"aliases"`
	Settings struct {
		Index struct {
			UUID string `json:"uuid"`
		} `json:"index"`
	} `json:"settings"`
}

func (e *elastic) look(ctx context.Context) (indices, error) {
	req := esapi.IndicesGetRequest{FilterPath: []string{"*.aliases", "*.settings.index.uuid"}}
	for _, kind := range kinds {
		req.Index = append(req.Index, e.alias(kind)+"-*")
	}
	found := indices{}
	if err := e.link.call(ctx, adminTime, req, &found); err != nil {
		return nil, fmt.Errorf("look for indices: %w", err)
	}
	for name := range found {
		if e.fingerprintOf(name) == "" {
			delete(found, name) // not made here
		}
	}
	return found, nil
}

var names = regexp.MustCompile(`^-(` + strings.Join(kinds, "|") + `)-([0-9a-f]{12})$`)

// fingerprintOf returns the fingerprint in the name of an index, or nothing
// when the name is not ours.
func (s settings) fingerprintOf(index string) string {
	rest, ok := strings.CutPrefix(index, s.prefix)
	if match := names.FindStringSubmatch(rest); ok && match != nil {
		return match[2]
	}
	return ""
}

func (i indices) missing(p *plan) (missing []string) {
	for _, kind := range kinds {
		if _, ok := i[p.index(kind)].Aliases[p.entrance(kind)]; !ok {
			missing = append(missing, kind)
		}
	}
	return missing
}

// name is made of what would be another one were an index made anew.
func (i indices) name(p *plan) string {
	h := sha256.New()
	for _, kind := range kinds {
		h.Write([]byte(i[p.index(kind)].Settings.Index.UUID))
	}
	return p.fingerprint + "-" + hex.EncodeToString(h.Sum(nil)[:4])
}
